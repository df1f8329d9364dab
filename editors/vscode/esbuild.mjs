// Bundles the extension, or its tests: node esbuild.mjs [extension] [unit] [host]
import { build } from 'esbuild';

const common = {
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  external: ['vscode', 'mocha'],
  logLevel: 'warning',
};

const kinds = {
  extension: { entryPoints: ['src/extension.ts'], outfile: 'dist/extension.js', minify: true },
  unit: { entryPoints: ['test/unit/index.ts'], outfile: 'out/unit.js', sourcemap: 'inline' },
  host: { entryPoints: ['test/host/index.ts'], outfile: 'out/host.js', sourcemap: 'inline' },
};

const wanted = process.argv.slice(2);
for (const kind of wanted.length > 0 ? wanted : ['extension']) {
  if (!(kind in kinds)) {
    throw new Error(`no such bundle: ${kind}; there are ${Object.keys(kinds).join(', ')}`);
  }
  await build({ ...common, ...kinds[kind] });
}
