/** Text of a scanned repository is untrusted: without control characters it can't steer the terminal. */
export function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
}

const COLOURS = { red: 31, yellow: 33, blue: 34, magenta: 35, green: 32, dim: 2, bold: 1 } as const;

/** Colours where the stream is a terminal that wants them (NO_COLOR). */
export function createPaint(stream: NodeJS.WriteStream) {
  const coloured = stream.isTTY && !process.env.NO_COLOR;
  return (text: string, colour: keyof typeof COLOURS): string =>
    coloured ? `\u001b[${COLOURS[colour]}m${text}\u001b[0m` : text;
}

export type Paint = ReturnType<typeof createPaint>;

/** Breaks at spaces; a longer word stays whole, so that a path can be copied. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
}
