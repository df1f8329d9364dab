import * as assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as Oniguruma from 'vscode-oniguruma';
import type * as Textmate from 'vscode-textmate';

// Both look for files beside themselves, so they are not bundled.
const require = createRequire(`${process.cwd()}/package.json`);

async function loadGrammar(): Promise<Textmate.IGrammar> {
  const oniguruma = require('vscode-oniguruma') as typeof Oniguruma;
  const textmate = require('vscode-textmate') as typeof Textmate;
  const wasm = readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm'));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const file = 'syntaxes/risor.tmLanguage.json';
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: patterns => new oniguruma.OnigScanner(patterns),
      createOnigString: text => new oniguruma.OnigString(text),
    }),
    loadGrammar: () => Promise.resolve(textmate.parseRawGrammar(readFileSync(file, 'utf8'), file)),
  });
  const grammar = await registry.loadGrammar('source.risor');
  assert.ok(grammar);
  return grammar;
}

suite('the grammar of Risor', () => {
  let grammar: Textmate.IGrammar;
  suiteSetup(async () => { grammar = await loadGrammar(); });

  /** The innermost scope of a piece of a line, after the lines before it. */
  const scopeOf = (text: string, piece: string): string => {
    let stack: Textmate.StateStack | null = null;
    let found = 'not there';
    for (const line of text.split('\n')) {
      const result = grammar.tokenizeLine(line, stack);
      stack = result.ruleStack;
      const at = line.indexOf(piece);
      const token = at < 0 ? undefined : result.tokens.find(one => one.startIndex <= at && at < one.endIndex);
      found = token?.scopes.at(-1) ?? found;
    }
    return found;
  };

  const cases: [text: string, piece: string, scope: string][] = [
    ['func on_tool_call(ctx) {', 'func', 'storage.type.function.risor'],
    ['func on_tool_call(ctx) {', 'on_tool_call', 'entity.name.function.risor'],
    ['func on_tool_call(ctx) {', 'ctx', 'variable.parameter.risor'],
    ['for _, call := range ctx.tool_calls {', 'range', 'keyword.control.loop.risor'],
    ['for _, call := range ctx.tool_calls {', 'ctx', 'variable.language.context.risor'],
    ['for _, call := range ctx.tool_calls {', 'tool_calls', 'variable.other.property.risor'],
    ['for _, call := range ctx.tool_calls {', ':=', 'keyword.operator.assignment.risor'],
    ['return {action: "deny", reason: r}', 'action', 'variable.other.property.risor'],
    ['return {action: "deny", reason: r}', 'deny', 'string.quoted.double.risor'],
    ['x := "a \\n b"', '\\n', 'constant.character.escape.risor'],
    ["x := 'turn {ctx.turn} of'", 'turn}', 'variable.other.property.risor'],
    ["x := 'turn {ctx.turn} of'", ' of', 'string.interpolated.single.risor'],
    ['x := `raw\n{not a hole}`\ny := 1', 'not a', 'string.quoted.raw.risor'],
    ['x := `raw`\ny := 1', 'y', 'variable.other.risor'],
    ['x := "open\ny := nil', 'nil', 'constant.language.risor'],
    ['// contract: 1', 'contract', 'keyword.other.contract.risor'],
    ['a := 1 // say', 'say', 'comment.line.double-slash.risor'],
    ['# say', 'say', 'comment.line.number-sign.risor'],
    ['/* a\n b */ return 1', 'return', 'keyword.control.flow.risor'],
    ['n := 0x1F + 1.5', '0x1F', 'constant.numeric.hex.risor'],
    ['n := 0x1F + 1.5', '1.5', 'constant.numeric.float.risor'],
    ['shell.commands(line)', 'shell', 'support.class.risor'],
    ['shell.commands(line)', 'commands', 'entity.name.function.member.risor'],
    ['len(x)', 'len', 'support.function.builtin.risor'],
    ['x := ctx["a"] | sorted', '|', 'keyword.operator.pipe.risor'],
    ['import helpers', 'helpers', 'entity.name.namespace.risor'],
    ['returned := 1', 'returned', 'variable.other.risor'],
  ];
  for (const [text, piece, scope] of cases) {
    test(`${JSON.stringify(piece)} in ${JSON.stringify(text)}`, () => { assert.equal(scopeOf(text, piece), scope); });
  }
});
