import * as assert from 'node:assert/strict';
import { markdownText, plainLabel, shortValue, visible, visibleLine } from '../../src/visible';

suite('visible text', () => {
  const cases: [name: string, text: string, want: string][] = [
    ['plain text stays', 'a b\tc\nd', 'a b\tc\nd'],
    ['carriage returns before line feeds go', 'a\r\nb', 'a\nb'],
    ['a lone carriage return shows', 'rm x\rls', 'rm x<U+000D>ls'],
    ['escape sequences show', '\u001b[2Jx', '<U+001B>[2Jx'],
    ['a right-to-left override shows', 'a\u202eb', 'a<U+202E>b'],
    ['isolates show', '\u2066a\u2069', '<U+2066>a<U+2069>'],
    ['zero-width characters show', 'pass\u200bword', 'pass<U+200B>word'],
    ['a byte order mark shows', '\ufeffx', '<U+FEFF>x'],
    ['tag characters outside the BMP show', 'x\u{e0041}', 'x<U+E0041>'],
    ['a line separator shows', 'a\u2028b', 'a<U+2028>b'],
    ['letters of any script stay', 'Grüße, 日本, 👍', 'Grüße, 日本, 👍'],
  ];
  for (const [name, text, want] of cases) {
    test(name, () => { assert.equal(visible(text), want); });
  }

  test('a label is one line and cut between characters', () => {
    assert.equal(visibleLine('a\n  b'), 'a b');
    assert.equal(visibleLine('👍👍👍👍', 3), '👍👍…');
  });

  test('a label draws no icon and no link', () => {
    assert.equal(plainLabel('$(check) done [x](command:rm)'), '$ (check) done [x] (command:rm)');
  });

  test('in markdown nothing is markup and no address a link', () => {
    assert.equal(markdownText('**a** <b> &amp; https://x.y'), '\\*\\*a\\*\\* \\<b\\> \\&amp\\; https\\:\\/\\/x\\.y');
  });

  test('a value is compact', () => {
    assert.equal(shortValue({ a: [1, 'b'] }), '{"a":[1,"b"]}');
    assert.equal(shortValue(undefined), 'nothing');
    assert.equal(shortValue(null), 'null');
  });
});
