import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { closeEditors, extension, file, until } from './window';

/** The server's diagnostics of a file, once there are some. */
async function diagnosticsOf(uri: vscode.Uri): Promise<vscode.Diagnostic[]> {
  return await until('there are diagnostics', () => {
    const found = vscode.languages.getDiagnostics(uri).filter(one => one.source === 'agent-ls');
    return found.length > 0 && found;
  });
}

function codeOf(diagnostic: vscode.Diagnostic): string {
  return String(typeof diagnostic.code === 'object' ? diagnostic.code.value : diagnostic.code);
}

suite('hook scripts', () => {
  const draft = file('.agent-ls/hooks/draft.risor');
  let document: vscode.TextDocument;

  suiteSetup(async () => {
    await extension();
    document = await vscode.workspace.openTextDocument(draft);
    await vscode.window.showTextDocument(document);
  });
  suiteTeardown(closeEditors);

  test('are Risor', () => { assert.equal(document.languageId, 'risor'); });

  test('mistakes are underlined where they are', async () => {
    const found = await until('both mistakes are found', async () => {
      const all = await diagnosticsOf(draft);
      return all.some(one => codeOf(one) === 'unknown-field') && all.some(one => codeOf(one) === 'unknown-action') && all;
    });
    const field = found.find(one => codeOf(one) === 'unknown-field');
    assert.ok(field);
    assert.equal(document.getText(field.range), 'tool_call');
    assert.equal(field.severity, vscode.DiagnosticSeverity.Error);
    assert.match(field.message, /tool_calls/);
  });

  test('the fix is one key away', async () => {
    const field = (await diagnosticsOf(draft)).find(one => codeOf(one) === 'unknown-field');
    assert.ok(field);
    const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', draft, field.range);
    const fix = actions.find(action => action.edit !== undefined && action.isPreferred === true) ?? actions.find(action => action.edit !== undefined);
    assert.ok(fix?.edit, `no fix among: ${actions.map(action => action.title).join(', ')}`);
    assert.ok(await vscode.workspace.applyEdit(fix.edit));
    assert.match(document.getText(), /ctx\.tool_calls \{/);
    await until('the mistake is gone', () =>
      !vscode.languages.getDiagnostics(draft).some(one => codeOf(one) === 'unknown-field'));
    await vscode.commands.executeCommand('undo');
  });

  test('fields of ctx are completed', async () => {
    const at = document.positionAt(document.getText().indexOf('ctx.') + 'ctx.'.length);
    const list = await vscode.commands.executeCommand<vscode.CompletionList>('vscode.executeCompletionItemProvider', draft, at);
    const labels = list.items.map(item => (typeof item.label === 'string' ? item.label : item.label.label));
    for (const field of ['tool_calls', 'stage', 'turn']) {
      assert.ok(labels.includes(field), `${field} is not among ${labels.join(', ')}`);
    }
  });

  test('hovering a field says what it is', async () => {
    const uri = file('.agent-ls/hooks/guard.risor');
    const guard = await vscode.workspace.openTextDocument(uri);
    const at = guard.positionAt(guard.getText().indexOf('ctx.tool_calls') + 'ctx.to'.length);
    const hovers = await vscode.commands.executeCommand<vscode.Hover[]>('vscode.executeHoverProvider', uri, at);
    const text = hovers.flatMap(hover => hover.contents).map(one => (one instanceof vscode.MarkdownString ? one.value : '')).join('\n');
    assert.match(text, /tool_calls/);
    for (const content of hovers.flatMap(hover => hover.contents)) {
      assert.ok(!(content instanceof vscode.MarkdownString) || content.isTrusted !== true, 'the hover may run commands');
    }
  });

  test('functions are symbols', async () => {
    const uri = file('.agent-ls/hooks/guard.risor');
    const symbols = await until('there are symbols', () =>
      vscode.commands.executeCommand<vscode.DocumentSymbol[] | undefined>('vscode.executeDocumentSymbolProvider', uri));
    assert.deepEqual(symbols.map(symbol => symbol.name), ['removes', 'on_tool_call']);
  });
});

suite('the manifest', () => {
  const manifest = file('.agent-ls/agent.toml');
  suiteSetup(async () => { await extension(); });
  suiteTeardown(async () => {
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    await closeEditors();
  });

  test('a misspelt key is underlined, and not any more when it is mended', async () => {
    const document = await vscode.workspace.openTextDocument(manifest);
    const editor = await vscode.window.showTextDocument(document);
    const at = document.positionAt(document.getText().indexOf('on_tool_call'));
    await editor.edit(edit => { edit.replace(new vscode.Range(at, at.translate(0, 'on_tool_call'.length)), 'on_tool_cal'); });
    const found = await until('the key is underlined', async () =>
      (await diagnosticsOf(manifest)).find(one => codeOf(one) === 'unknown-key'));
    assert.equal(document.getText(found.range), 'on_tool_cal');
    await editor.edit(edit => { edit.replace(found.range, 'on_tool_call'); });
    await until('the key is mended', () => !vscode.languages.getDiagnostics(manifest).some(one => codeOf(one) === 'unknown-key'));
  });

  test('goes to the script that it names', async () => {
    const document = await vscode.workspace.openTextDocument(manifest);
    const at = document.positionAt(document.getText().indexOf('guard.risor'));
    const found = await vscode.commands.executeCommand<(vscode.Location | vscode.LocationLink)[]>('vscode.executeDefinitionProvider', manifest, at);
    const targets = found.map(one => ('targetUri' in one ? one.targetUri : one.uri).path);
    assert.ok(targets.some(path => path.endsWith('/hooks/guard.risor')), targets.join(', '));
  });
});

suite('other documents', () => {
  test('are none of our business', async () => {
    const parts = await extension();
    assert.ok(parts.server.ready);
    const uri = file('calc.go');
    await vscode.workspace.openTextDocument(uri);
    const hovers = await vscode.commands.executeCommand<vscode.Hover[]>('vscode.executeHoverProvider', uri, new vscode.Position(3, 6));
    assert.deepEqual(hovers, []);
  });
});
