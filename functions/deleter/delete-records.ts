import type { Clock } from '#domain/clock.ts';
import type { DeletionRequested } from '#events/deletions.ts';
import { logInfo } from '#shared/log.ts';
import type { Queue } from '#shared/queue.ts';
import type { ReportBucket } from '#shared/report-bucket.ts';
import type { OrganizationPurge } from '#store/organization-purge.ts';
import type { KeepGoing } from '#store/purging.ts';
import type { DeletionProgress, RecordDeletions } from '#store/record-deletions.ts';

export interface DeleterDependencies {
  readonly purge: OrganizationPurge;
  readonly records: RecordDeletions;
  readonly bucket: Pick<ReportBucket, 'purge'>;
  readonly deletions: Queue<DeletionRequested>;
  readonly clock: Clock;
}

/** One message's share: well within the function's time-out. */
const SHARE = 30_000;

/**
 * Goes on with a deletion for a while, and asks for another turn where something is left. What has to wait
 * (a scan that still runs, an index that may lag) is left to the sweep, which asks every minute.
 */
export async function deleteRecords(
  message: DeletionRequested,
  dependencies: DeleterDependencies,
): Promise<void> {
  const until = dependencies.clock.now() + SHARE;
  const progress = await goOn(message, () => dependencies.clock.now() < until, dependencies);
  logInfo('deletion went on', { org_id: message.org_id, kind: message.kind, progress });
  if (progress === 'more') await dependencies.deletions.send(message);
}

/** Reports first: what was to be deleted stays listed until they are gone too. */
async function goOn(
  message: DeletionRequested,
  keepGoing: KeepGoing,
  { purge, records, bucket, clock }: DeleterDependencies,
): Promise<DeletionProgress> {
  const { org_id } = message;
  switch (message.kind) {
    case 'organization': {
      const complete =
        (await bucket.purge(`${org_id}/`, keepGoing)) && (await purge.continue(org_id, keepGoing));
      return complete ? 'done' : 'more';
    }
    case 'asset':
      return records.continueAsset(org_id, message.asset_id, clock.now(), keepGoing, (scanId) =>
        bucket.purge(`${org_id}/${scanId}/`, keepGoing),
      );
    case 'scan':
      if (!(await bucket.purge(`${org_id}/${message.scan_id}/`, keepGoing))) return 'more';
      return records.continueScan(org_id, message.scan_id, keepGoing);
  }
}
