import { isDeepStrictEqual } from 'node:util';
import { timestamp } from '#domain/clock.ts';
import { lastSeen, whenAbsent, whenReported } from '#domain/lifecycle.ts';
import type { ManifestEntry } from '#domain/manifest.ts';
import type { Judge } from '#shared/judging/judge.ts';
import { judgedChange } from '#shared/judging/judged-change.ts';
import { digestFinding, withReported } from '#shared/reports/digest.ts';
import type { ReportedFinding } from '#shared/reports/reported-finding.ts';
import { assetPlaceCheck, countedPlace } from '#store/assets.ts';
import type { FindingRecord } from '#store/finding-record.ts';
import type { WriteScope } from '#store/finding-writes.ts';
import type { ManifestHead } from '#store/manifests.ts';
import type { ManifestRef } from '#store/runs.ts';
import { chunksOf } from '#store/table.ts';
import {
  type IngestContext,
  type IngestDependencies,
  ManifestBusy,
  newFinding,
  openJudge,
} from './context.ts';
import { keepManifest, replaceManifest } from './new-manifest.ts';
import type { ReportedSet } from './reported-set.ts';

/** What became of one origin's report. */
export interface Taken {
  readonly kind: 'taken';
  /** By cell as reported. */
  readonly counts: Readonly<Record<string, number>>;
  readonly newCount: number;
  readonly resolvedCount: number;
  readonly manifest: ManifestRef;
}
type Reconciled = Taken | { readonly kind: 'held'; readonly reason: string };

/** From this many on, a report without any finding is held until a second one confirms it (design 5). */
const SUSPICIOUS_FROM = 20;

/** Findings read at once: bounds what a large report keeps in memory besides itself. */
const BATCH = 1000;

/** An ingest under way: what was known before, and where it writes. */
interface Reconciliation {
  readonly context: IngestContext;
  readonly report: ReportedSet;
  readonly head: ManifestHead;
  readonly scope: WriteScope;
  readonly autoResolve: boolean;
  readonly judge: Judge;
}

/** What a reconciliation needs besides the ids: counts by what is stored, so that a repeated step counts the same. */
interface Outcome {
  readonly newCount: number;
  readonly resolvedCount: number;
  /** When findings that the manifest did not know were created, in milliseconds. */
  readonly createdAt: ReadonlyMap<string, number>;
}

/**
 * Brings the organization's findings in line with what one origin reports of the default branch: new ones
 * are created, absent ones resolved where the report is complete, resolved ones that are seen again
 * reopened, changed ones brought up to date; what people decided stays. What was reported last is known
 * from the manifest, so a rescan reads what changed, not what is there, and an unchanged one reads nothing
 * but the manifest's head.
 * @throws ManifestBusy
 */
export async function reconcile(
  context: IngestContext,
  report: ReportedSet,
  dependencies: IngestDependencies,
): Promise<Reconciled> {
  try {
    return await reconcileLeased(context, report, dependencies);
  } catch (error) {
    // What failed may be tried again at once; after a crash the lease has to run out.
    const { ref, holder } = context;
    await dependencies.manifests
      .release(ref.orgId, ref.assetId, report.origin, holder)
      .catch(() => undefined);
    throw error;
  }
}

async function reconcileLeased(
  context: IngestContext,
  report: ReportedSet,
  dependencies: IngestDependencies,
): Promise<Reconciled> {
  const { ref, at, holder } = context;
  const { manifests } = dependencies;
  const { origin } = report;
  const [head, revisits] = await Promise.all([
    manifests.lease(ref.orgId, ref.assetId, origin, holder, at),
    manifests.listRevisits(ref.orgId, ref.assetId, origin),
  ]);
  if (!head) throw new ManifestBusy(`${origin} of asset ${ref.assetId} is being ingested by another run`);
  const complete = report.incomplete === null;
  const reason = complete ? suspicion(context, head, report) : null;
  if (reason !== null) {
    await manifests.hold(ref.orgId, ref.assetId, origin, ref.scanId, holder);
    return { kind: 'held', reason };
  }
  const unchanged = complete && head.digest === report.digest;
  const same = async (): Promise<Taken> => {
    const manifest = await keepManifest(context, report, head, dependencies);
    return { kind: 'taken', counts: head.counts, newCount: 0, resolvedCount: 0, manifest };
  };
  if (unchanged && revisits.length === 0) return same();
  // What an incomplete report does not name may be there all the same.
  const autoResolve = complete && (await dependencies.readAutoResolve(ref.orgId));
  // Where nothing is resolved by itself, those that wait for it keep their marks.
  const marked = revisits.filter((id) => autoResolve || report.entries.has(id));
  if (unchanged && marked.length === 0) return same();

  const known = await manifests.readEntries(ref.orgId, ref.assetId, origin, head.chunks);
  // Read under the lease: whoever changes a policy waits for it before looking at these findings.
  const { judge, asked } = await openJudge(context, dependencies);
  const work = {
    context,
    report,
    head,
    scope: writeScope(context, report, dependencies),
    autoResolve,
    judge,
  };
  const outcome = await writeChanges(work, known, new Set(marked), dependencies);
  await asked.record(ref.orgId, dependencies);
  const createdAt = new Map(known.map((entry) => [entry.id, entry.createdAt]));
  const entries = Array.from(
    report.entries,
    ([id, { severity, digest }]): ManifestEntry => ({
      id,
      severity,
      digest,
      createdAt: createdAt.get(id) ?? outcome.createdAt.get(id) ?? at,
    }),
  );
  const manifest = await replaceManifest(work, known, entries, dependencies);
  const { newCount, resolvedCount } = outcome;
  return { kind: 'taken', counts: report.counts, newCount, resolvedCount, manifest };
}

/** A report that lost everything at once is more likely a broken scan than a clean repository. */
function suspicion(
  { ref }: IngestContext,
  { count, held_scan_id: held }: ManifestHead,
  { name, entries, hidden }: ReportedSet,
): string | null {
  const confirmed = held !== null && held !== ref.scanId;
  if (entries.size + hidden.size > 0 || count < SUSPICIOUS_FROM || confirmed) return null;
  return `${name} reported nothing where it last reported ${count} findings; nothing was resolved. A second scan with the same outcome confirms it`;
}

/** Conditions of every transaction: the lease is still ours, and the asset still where its findings are counted. */
function writeScope(
  { ref, asset, holder }: IngestContext,
  { origin }: ReportedSet,
  { manifests }: IngestDependencies,
): WriteScope {
  const moved = () => new ManifestBusy('The asset was moved to another project meanwhile');
  return {
    orgId: ref.orgId,
    place: countedPlace(asset),
    guards: [manifests.fence(ref.orgId, asset.id, origin, holder), assetPlaceCheck(ref.orgId, asset, moved)],
  };
}

/** All that the difference between two reports, and people's decisions since, ask for. */
async function writeChanges(
  work: Reconciliation,
  known: readonly ManifestEntry[],
  revisits: ReadonlySet<string>,
  dependencies: IngestDependencies,
): Promise<Outcome> {
  const { report } = work;
  const digests = new Map(known.map((entry) => [entry.id, entry.digest]));
  const seen = new Set<string>();
  for (const [id, { digest }] of report.entries)
    if (digests.get(id) !== digest || revisits.has(id)) seen.add(id);
  const taken = await takeIn(work, seen, digests, revisits, dependencies);
  if (report.incomplete !== null) return { ...taken, resolvedCount: 0 };
  const absent = [
    ...known.map((entry) => entry.id).filter((id) => !report.entries.has(id)),
    ...[...revisits].filter((id) => !report.entries.has(id) && !digests.has(id)),
  ];
  const resolvedCount = await leaveOut(work, absent, revisits, dependencies);
  return { ...taken, resolvedCount };
}

/** Reported findings that the manifest does not know as they are now: created, or brought up to date. */
async function takeIn(
  { context, report, head, scope, judge }: Reconciliation,
  ids: ReadonlySet<string>,
  known: ReadonlyMap<string, string>,
  revisits: ReadonlySet<string>,
  dependencies: IngestDependencies,
): Promise<Omit<Outcome, 'resolvedCount'>> {
  const { ref } = context;
  const { writes } = dependencies;
  const createdAt = new Map<string, number>();
  let newCount = 0;
  for await (const batch of report.batches(ids, BATCH)) {
    await keepLease(context, report, dependencies);
    const findings = new Map(batch);
    // Before the first ingest ever there is nothing to be found: the reads are saved.
    const existing = head.leases > 1 ? await writes.readExisting(ref.orgId, [...findings.keys()]) : [];
    const held = new Set(existing.map(({ id }) => id));
    const fresh = batch.filter(([id]) => !held.has(id)).map(([, finding]) => newFinding(context, finding));
    await writes.createAll(scope, await judge(fresh));
    const reported = (one: FindingRecord) => asReported(one, findings.get(one.id), context);
    const decide = await judgedChange(judge, existing, reported);
    await writes.changeAll(scope, existing, decide, revisits);
    const first = existing.filter((one) => one.first_seen_scan_id === ref.scanId && !known.has(one.id));
    newCount += fresh.length + first.length;
    for (const record of existing) createdAt.set(record.id, Date.parse(record.created_at));
  }
  return { newCount, createdAt };
}

/** A known finding as its scanner reports it now; null where it is so already. */
function asReported(
  held: FindingRecord,
  finding: ReportedFinding | undefined,
  { ref, at }: IngestContext,
): FindingRecord | null {
  const same = !finding || digestFinding(held) === digestFinding(finding);
  const shown = held.suppressed_in_repository === null;
  if (same && shown && held.reported && held.status !== 'resolved') return null;
  return {
    ...whenReported(finding ? withReported(held, finding) : held, at),
    suppressed_in_repository: null,
    last_seen_scan_id: ref.scanId,
    updated_at: timestamp(at),
  };
}

/**
 * Findings that are no longer reported. In a file that was not analysed whole they may be there all the same, and
 * what the repository hides is: they are marked as where nothing resolves by itself, and the next run looks at
 * them again.
 */
async function leaveOut(
  { context, report, head, scope, autoResolve }: Reconciliation,
  ids: readonly string[],
  revisits: ReadonlySet<string>,
  dependencies: IngestDependencies,
): Promise<number> {
  const { ref, at } = context;
  const { writes } = dependencies;
  let resolved = 0;
  const decide = (held: FindingRecord): FindingRecord | null => {
    const hiding = report.hidden.get(held.id) ?? null;
    const unread = report.unread.mayHold(held.location.path);
    const next = whenAbsent(held, ref.scanId, at, autoResolve && hiding === null && !unread);
    // Where its file was not read, the last word on it stands.
    const mark = hiding ?? (unread ? held.suppressed_in_repository : null);
    const same = isDeepStrictEqual(mark, held.suppressed_in_repository);
    if (next.status === held.status && !held.reported && same) return null;
    return {
      ...next,
      suppressed_in_repository: mark,
      last_seen_scan_id: lastSeen(held, head.last_scan_id),
      updated_at: timestamp(at),
    };
  };
  for (const batch of chunksOf(ids, BATCH)) {
    await keepLease(context, report, dependencies);
    const existing = await writes.readExisting(ref.orgId, batch);
    const now = await writes.changeAll(scope, existing, async (held) => held.map(decide), revisits);
    resolved += now.filter((record) => record.resolved_by_scan_id === ref.scanId).length;
  }
  return resolved;
}

/** A large report takes longer than a lease: it is renewed while the work goes on. */
async function keepLease(
  { ref, at, holder }: IngestContext,
  { origin }: ReportedSet,
  { manifests, clock }: IngestDependencies,
): Promise<void> {
  const now = clock.now();
  if (now - at > 30_000) await manifests.renew(ref.orgId, ref.assetId, origin, holder, now);
}
