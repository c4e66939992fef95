import type { Clock } from '#domain/clock.ts';
import { withStatus } from '#domain/lifecycle.ts';
import { logError } from '#shared/log.ts';
import { placeOf, type Triage, type TriageStore } from '#store/finding-triage.ts';
import type { FindingStore } from '#store/findings.ts';
import type { EndedSuppression, SuppressionEndStore } from '#store/suppression-ends.ts';

export interface SuppressionClockDependencies {
  readonly ends: SuppressionEndStore;
  readonly findings: FindingStore;
  readonly triage: TriageStore;
  readonly clock: Clock;
}

const HOUR = 3_600_000;
const PAGE = 100;
/** One minute's share: what is left goes on with the next one. */
const SHARE = 45_000;

/**
 * Once a minute: reopens what was suppressed until now (design 10). An hour is left behind only when the
 * one after it is over too: a request that was under way at its end may still have written into it.
 */
export async function endSuppressions(dependencies: SuppressionClockDependencies): Promise<void> {
  const { ends, clock } = dependencies;
  const now = clock.now();
  const until = now + SHARE;
  const current = Math.floor(now / HOUR);
  const first = Math.min((await ends.readCursor()) ?? current - 1, current - 1);
  for (let hour = first; hour <= current; hour += 1) {
    for (;;) {
      const due = await ends.listEnded(hour, now, PAGE);
      if (due.length === 0) break;
      if (clock.now() > until) return;
      const failed = await endAll(due, dependencies);
      // What fails is tried again in a minute, and must not keep this minute going round.
      if (failed) return;
    }
    if (hour < current - 1) await ends.moveCursor(hour + 1);
  }
  await ends.moveCursor(current - 1);
}

/** @returns whether any could not be ended */
async function endAll(
  due: readonly EndedSuppression[],
  dependencies: SuppressionClockDependencies,
): Promise<boolean> {
  let failed = false;
  for (const end of due) {
    try {
      await endOne(end, dependencies);
    } catch (error) {
      failed = true;
      logError('suppression not ended', error, { org_id: end.orgId, finding_id: end.findingId });
    }
  }
  return failed;
}

async function endOne(
  end: EndedSuppression,
  { findings, triage, ends, clock }: SuppressionClockDependencies,
): Promise<void> {
  const at = clock.now();
  const held = await findings.get(end.orgId, end.findingId);
  const asset = held && (await findings.readContext(end.orgId, [held])).context.assets.get(held.asset_id);
  if (!held || !asset || held.suppression?.expires_at !== end.endedAt) {
    await ends.drop(end);
    return;
  }
  const reopen: Triage = (finding) =>
    finding.suppression?.expires_at === end.endedAt ? withStatus(finding, 'reopened', 'scanner', at) : null;
  await triage.changeTogether(
    end.orgId,
    [{ record: held, asset: placeOf(asset) }],
    reopen,
    'finding.reopen',
    {
      actor: { type: 'system', id: null, name: 'suppression clock' },
      requestId: null,
      ip: null,
      at,
    },
  );
}
