// Text that a model, a tool or a file wrote, made safe to show: control
// characters, bidirectional overrides and zero-width marks cannot hide in it.

/** Whether a code point changes how text looks without being seen itself. */
function hides(code: number): boolean {
  return (
    code < 0x20 ||
    (code >= 0x7f && code <= 0x9f) ||
    code === 0xad || // soft hyphen
    code === 0x61c || // Arabic letter mark
    (code >= 0x180b && code <= 0x180f) ||
    (code >= 0x200b && code <= 0x200f) ||
    (code >= 0x2028 && code <= 0x202e) ||
    (code >= 0x2060 && code <= 0x206f) ||
    code === 0xfeff ||
    (code >= 0xfff9 && code <= 0xfffb) ||
    (code >= 0xe0000 && code <= 0xe0fff)
  );
}

function shown(code: number): string {
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
}

/** The text with everything that hides written as <U+XXXX>; line ends and tabs stay. */
export function visible(text: string): string {
  let out = '';
  for (const character of text.replaceAll('\r\n', '\n')) {
    const code = character.codePointAt(0) ?? 0;
    out += hides(code) && character !== '\n' && character !== '\t' ? shown(code) : character;
  }
  return out;
}

/** One line of at most `limit` characters, for labels. */
export function visibleLine(text: string, limit = 200): string {
  const line = visible(text).replace(/\s+/g, ' ').trim();
  const characters = Array.from(line);
  return characters.length > limit ? `${characters.slice(0, limit - 1).join('')}…` : line;
}

/**
 * A label for places that draw $(name) as an icon or [text](address) as a link: quick picks,
 * notifications, the status bar. A visible space parts what would start either.
 */
export function plainLabel(text: string, limit = 200): string {
  return visibleLine(text, limit).replaceAll('$(', '$ (').replaceAll('](', '] (');
}

/** Text as markdown in which nothing is markup, no address becomes a link, and lines can break between words. */
export function markdownText(text: string, limit = 500): string {
  return visibleLine(text, limit).replace(/[!-/:-@[-`{-~]/g, '\\$&');
}

/** A value as compact JSON, or as it is when it is a string. */
export function shortValue(value: unknown, limit = 120): string {
  if (value === undefined) {
    return 'nothing';
  }
  return visibleLine(JSON.stringify(value), limit);
}
