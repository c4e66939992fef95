import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

/** The words of a command line, or null where an option is unknown, or one that needs a value has none. */
export function readWords<Options extends ParseArgsOptionsConfig>(
  words: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...words], allowPositionals: true, options });
  } catch {
    return null;
  }
}
