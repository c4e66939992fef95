import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';

/** A place in a bundle, as a stack shows it. */
const IN_BUNDLE = /(?:file:\/\/)?[^\s()]*\/index\.mjs:(\d+):(\d+)/g;
/** A frame of ours in the sources, and its name. */
const OWN_FRAME = /at (?:async )?(?:([\w.$<>]+) \()?[^\s()]*?((?:functions|shared)\/[\w./-]+\.ts:\d+)/;

/** Read at the first error alone: it is larger than the bundle. Null where the sources run as they are. */
let map: SourceMap | null | undefined;

function readMap(): SourceMap | null {
  const own = new URL(import.meta.url);
  if (own.pathname.endsWith('.ts')) return null;
  try {
    const text = readFileSync(new URL(`${own.href}.map`), 'utf8');
    return new SourceMap(JSON.parse(text) as ConstructorParameters<typeof SourceMap>[0]);
  } catch {
    // An error must be told even where its places can't be.
    return null;
  }
}

/** A stack with places of the sources in the stead of those in the bundle that runs. */
export function inSources(stack: string): string {
  map ??= readMap();
  if (map === null) return stack;
  const places = map;
  return stack.replace(IN_BUNDLE, (place, line: string, column: string) => {
    const entry = places.findEntry(Number(line) - 1, Number(column) - 1);
    if (!('originalSource' in entry)) return place;
    return `${entry.originalSource.replace(/^(?:\.\.\/)+/, '')}:${entry.originalLine + 1}`;
  });
}

/**
 * Our own frames of a stack: no values, no library's paths, no machine's folders. Names are shown where
 * the sources run as they are; a bundle has shortened them.
 */
export function ownFrames(stack: string): string[] {
  const mapped = inSources(stack);
  return mapped
    .split('\n')
    .map((line) => OWN_FRAME.exec(line))
    .filter((match) => match !== null)
    .map(([, name, place = '']) => (name === undefined || mapped !== stack ? place : `${name} (${place})`));
}
