const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, OPEN_OBJECT, CLOSE_LIST, CLOSE_OBJECT] = [
  0x22, 0x5c, 0x2c, 0x5b, 0x7b, 0x5d, 0x7d,
];

/**
 * How deep JSON goes and how many values it holds, without making any of it; for what is no JSON any numbers. It
 * stops where either is more than it may be.
 */
export function measureJson(text: string, most: { depth: number; values: number }) {
  let depth = 0;
  let deepest = 0;
  let values = 1;
  for (let at = 0; at < text.length && deepest <= most.depth && values <= most.values; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfText(text, at);
    else if (unit === COMMA) values += 1;
    else if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
      depth += 1;
      values += 1;
      deepest = Math.max(deepest, depth);
    } else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) depth -= 1;
  }
  return { depth: deepest, values };
}

function endOfText(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at;
    if (unit === BACKSLASH) at += 1;
  }
  return text.length;
}
