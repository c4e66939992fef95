import { createWriteStream, existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import type { OperationDeclaration } from '#contract/operation.ts';
import { exports_ } from '#contract/operations/exports.ts';
import { readId } from '#domain/ids.ts';
import { ApiError, type Client } from '#shared/client/client.ts';
import { EXPORTED_LISTS, type ExportedList } from './exported-lists.ts';
import { SIGN_IN_USAGE, signIn } from './signed-in.ts';
import { readWords } from './words.ts';

const USAGE = `Usage: ASPM_URL=https://… npm run export -- FOLDER

Writes everything that the API shows of an organization into a new folder: JSON Lines, a file a kind. The
folder has its name once it is whole. No secret is among it. ${SIGN_IN_USAGE} An admin sees every kind.`;

const PER_PAGE = 100;
const ATTEMPTS = 5;
const EXPORT_POLL_MS = 1000;

type Row = Record<string, unknown>;

/** `npm run export`. Answers the exit code. */
async function main(words: readonly string[]): Promise<number> {
  const asked = readWords(words, { help: { type: 'boolean', short: 'h' } });
  if (asked?.values.help) {
    console.log(USAGE);
    return 0;
  }
  const url = process.env.ASPM_URL;
  const [target, ...rest] = asked?.positionals ?? [];
  if (!target || rest.length > 0 || !url) {
    console.error(USAGE);
    return 2;
  }
  if (existsSync(target)) {
    console.error(`${target} is there already: an export goes into a folder of its own`);
    return 1;
  }
  const { client, orgId } = await signIn(url, process.env);
  // Under another name until it is whole.
  const folder = `${target}.partial`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const parents = new Map<string, Row[]>();
  for (const list of EXPORTED_LISTS) {
    const rows = await readAll(client, orgId, list, parents);
    parents.set(list.kind, rows);
    await write(folder, list.kind, Readable.from(rows.map((row) => `${JSON.stringify(row)}\n`)));
    console.log(`${list.kind}: ${rows.length}`);
  }
  console.log(`findings: ${await exportFindings(client, folder)}`);
  await rename(folder, target);
  return 0;
}

/** The rows of a list, or of each parent's list, with the parent's id where there is one. */
async function readAll(
  client: Client,
  orgId: string,
  { operation, of, detail }: ExportedList,
  known: ReadonlyMap<string, Row[]>,
): Promise<Row[]> {
  const own: Record<string, string> = operation.path.includes('{org_id}') ? { org_id: orgId } : {};
  if (!of) return readPages(client, operation, own);
  const { kinds, param } = of;
  const rows: Row[] = [];
  for (const { id } of kinds.flatMap((kind) => known.get(kind) ?? [])) {
    // The same id in both families: one writes its kind before it.
    const given = operation.family === 'A' ? (readId(String(id)) ?? String(id)) : String(id);
    const params = { ...own, [param]: given };
    const children = await readPages(client, operation, params);
    for (const [index, child] of children.entries())
      if (detail)
        children[index] = await readOne(client, detail.operation, {
          ...params,
          [detail.param]: String(child[detail.param]),
        });
    rows.push(...children.map((child) => ({ [param]: id, ...child })));
  }
  return rows;
}

async function readPages(
  client: Client,
  operation: OperationDeclaration,
  params: Record<string, string>,
): Promise<Row[]> {
  for (let attempt = 1; ; attempt += 1) {
    const { rows, steady } = await readOnce(client, operation, params);
    if (steady) return rows;
    // A page begins elsewhere where records come and go meanwhile: some would be missing.
    if (attempt < ATTEMPTS) continue;
    console.error(`${operation.path} changed each time it was read: take the export again to be sure of it`);
    return rows;
  }
}

/** Every page; not steady where there were more or fewer records at the end than at the beginning. */
async function readOnce(
  client: Client,
  operation: OperationDeclaration,
  params: Record<string, string>,
): Promise<{ rows: Row[]; steady: boolean }> {
  const rows = new Map<unknown, Row>();
  const totals = new Set<number>();
  for (let number = 1; ; number += 1) {
    const body = (await patiently(() =>
      client.call(operation, {
        params,
        ...(operation.family === 'B' && operation.query && { query: { page: number, per_page: PER_PAGE } }),
      } as never),
    )) as Row | Row[];
    // Family A lists are bare, and whole where no page is asked for.
    if (Array.isArray(body)) return { rows: body as Row[], steady: true };
    const page = body.data ?? body.versions;
    if (!Array.isArray(page)) return { rows: [body], steady: true };
    for (const row of page as Row[]) rows.set(row.id ?? row, row);
    const { total } = (body.pagination ?? {}) as { total?: number };
    if (total !== undefined) totals.add(total);
    if (page.length < PER_PAGE || total === undefined || number * PER_PAGE >= total)
      return { rows: [...rows.values()], steady: totals.size <= 1 };
  }
}

function readOne(
  client: Client,
  operation: OperationDeclaration,
  params: Record<string, string>,
): Promise<Row> {
  return patiently(() => client.call(operation, { params } as never)) as Promise<Row>;
}

/** Findings come as one file, however many there are. */
async function exportFindings(client: Client, folder: string): Promise<number> {
  const { exportFindings: begin, getFindingExport } = exports_.operations;
  const { id } = await patiently(() => client.call(begin, { body: { format: 'jsonl' } }));
  for (;;) {
    const made = await patiently(() => client.call(getFindingExport, { params: { export_id: id } }));
    if (made.status === 'failed') throw new Error(`The findings' export failed: ${made.error?.message}`);
    if (made.url !== null) {
      const answer = await fetch(made.url);
      if (!answer.ok || !answer.body) throw new Error(`The findings' file answered ${answer.status}`);
      await write(folder, 'findings', Readable.fromWeb(answer.body as never).pipe(createGunzip()));
      return made.count ?? 0;
    }
    await sleep(EXPORT_POLL_MS);
  }
}

function write(folder: string, kind: string, from: Readable): Promise<void> {
  return pipeline(from, createWriteStream(join(folder, `${kind}.jsonl`), { mode: 0o600 }));
}

/** Waits out the tier's limits, however often. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ApiError) || error.retryAfter === null) throw error;
      await sleep(error.retryAfter * 1000);
    }
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
