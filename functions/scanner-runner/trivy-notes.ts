import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import * as z from 'zod';
import type { TrackedFile } from './tracked-files.ts';

/** Files and folders that are remembered; a repository can have any number of broken ones. */
const MOST = 20_000;
/** Terraform is written by people; what is longer is no module. */
const LONGEST_MODULE = 1024 * 1024;

/** What Trivy says of files that are then missing in its report, as if nothing were wrong with them. */
export interface TrivyNotes {
  /** Could not be parsed. */
  readonly unparsed: ReadonlySet<string>;
  /** Folders of Terraform that it began with. */
  readonly roots: ReadonlySet<string>;
  line(text: string): void;
}

export function trivyNotes(): TrivyNotes {
  const unparsed = new Set<string>();
  const roots = new Set<string>();
  return {
    unparsed,
    roots,
    line(text) {
      const path = pathIn(text);
      if (path === null) return;
      if (/\tERROR\t.*(?:Failed to parse|Error parsing|Failed to load)/.test(text) && unparsed.size < MOST)
        unparsed.add(path);
      if (text.includes('Scanning root module') && roots.size < MOST) roots.add(posix.normalize(path));
    },
  };
}

/** Files that its report says nothing of although something may be wrong with them. */
export async function unreadByTrivy(
  files: readonly TrackedFile[],
  checkout: string,
  report: unknown,
  notes: TrivyNotes,
): Promise<string[]> {
  return [
    ...notes.unparsed,
    ...(await unvisitedTerraform(files, checkout, notes)),
    ...(await unseenTemplates(files, checkout, report)),
  ];
}

/** `file_path="…"`, quoted as Go does: nearly as JSON. */
function pathIn(line: string): string | null {
  const [quoted] = /(?<=file_path=)"(?:[^"\\]|\\.)*"/.exec(line) ?? [];
  if (quoted === undefined) return null;
  try {
    return String(JSON.parse(quoted));
  } catch {
    return null;
  }
}

/**
 * Terraform that Trivy never came to: it begins with folders that no module calls, so that modules which call each
 * other in a circle (or one that calls itself) are looked at by nobody, and it says nothing of them.
 */
async function unvisitedTerraform(
  files: readonly TrackedFile[],
  checkout: string,
  { roots }: Pick<TrivyNotes, 'roots'>,
): Promise<string[]> {
  const modules = files.filter(({ path }) => /\.tf(?:\.json)?$/i.test(path));
  const called = new Map<string, Set<string>>();
  for (const { path, bytes } of modules) {
    const folder = posix.dirname(path);
    const calls = called.get(folder) ?? new Set();
    called.set(folder, calls);
    const text = bytes <= LONGEST_MODULE ? await readFile(join(checkout, path), 'utf8').catch(() => '') : '';
    for (const [, source = ''] of text.matchAll(
      /\bsource"?\s{0,20}[=:]\s{0,20}"(\.{1,2}\/[^"]{0,1000}|\.{1,2})"/g,
    ))
      calls.add(posix.normalize(posix.join(folder, source)).replace(/\/$/, ''));
  }
  const visited = new Set<string>();
  const waiting = [...roots];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    if (visited.has(folder)) continue;
    visited.add(folder);
    waiting.push(...(called.get(folder) ?? []));
  }
  return modules.map(({ path }) => path).filter((path) => !visited.has(posix.dirname(path)));
}

const configTargets = z.object({
  Results: z.array(z.object({ Target: z.string(), Class: z.string().optional() })).catch([]),
});
/** What Trivy looks for in a file before it takes it for one of Kubernetes or CloudFormation. */
const KUBERNETES = [/^\s*"?apiVersion"?\s*:/m, /^\s*"?kind"?\s*:/m];
const CLOUD_FORMATION = [/\bResources"?\s*:/, /\bAWS::\w+::/];

/**
 * Files of Kubernetes and CloudFormation that are none of those that Trivy has looked at: it takes what it can't parse
 * for something else, without a word. Templates of Helm are not meant: they may come to nothing.
 */
async function unseenTemplates(
  files: readonly TrackedFile[],
  checkout: string,
  report: unknown,
): Promise<string[]> {
  const results = configTargets.safeParse(report).data?.Results ?? [];
  const seen = new Set(results.filter(({ Class }) => Class === 'config').map(({ Target }) => Target));
  const charts = files.filter(({ path }) => posix.basename(path) === 'Chart.yaml');
  const templates = charts.map(({ path }) => `${posix.join(posix.dirname(path), 'templates')}/`);
  const found: string[] = [];
  for (const { path, bytes } of files) {
    if (!/\.(?:ya?ml|json|template)$/i.test(path) || seen.has(path) || bytes > LONGEST_MODULE) continue;
    if (templates.some((folder) => path.startsWith(folder))) continue;
    const text = await readFile(join(checkout, path), 'utf8').catch(() => '');
    const has = (marks: readonly RegExp[]) => marks.every((mark) => mark.test(text));
    if (has(KUBERNETES) || has(CLOUD_FORMATION)) found.push(path);
  }
  return found;
}
