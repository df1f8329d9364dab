// The package's command line imports globSync, for a command that is not used here, which Node.js has from 22 on. With
// this (node --import) it starts on Node.js 20, too.
import { register } from 'node:module';

const withGlobSync = 'data:text/javascript,' + encodeURIComponent(`
import fs from 'node:fs';
export * from 'node:fs';
export default fs;
export const globSync = fs.globSync;`);
register('data:text/javascript,' + encodeURIComponent(`
export const resolve = (name, context, next) =>
  name === 'fs' && context.parentURL?.includes('/@modelcontextprotocol/conformance/')
    ? { url: ${JSON.stringify(withGlobSync)}, shortCircuit: true }
    : next(name, context);`));
