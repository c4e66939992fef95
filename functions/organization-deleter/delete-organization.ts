import type { Clock } from '#domain/clock.ts';
import type { OrganizationDeleted } from '#events/organizations.ts';
import type { Queue } from '#shared/queue.ts';
import type { ReportBucket } from '#shared/report-bucket.ts';
import type { OrganizationPurge } from '#store/organization-purge.ts';

export interface DeleterDependencies {
  readonly purge: OrganizationPurge;
  readonly bucket: ReportBucket;
  readonly deletions: Queue<OrganizationDeleted>;
  readonly clock: Clock;
}

/** One message's share: well within the function's time-out. */
const SHARE = 30_000;

/** Goes on with a deletion for a while, and asks for another turn where something is left. */
export async function deleteOrganization(
  message: OrganizationDeleted,
  dependencies: DeleterDependencies,
): Promise<void> {
  const { purge, bucket, deletions, clock } = dependencies;
  const until = clock.now() + SHARE;
  const keepGoing = () => clock.now() < until;
  // Reports first: the organization stays listed until they are gone too.
  const complete =
    (await bucket.purge(message.org_id, keepGoing)) && (await purge.continue(message.org_id, keepGoing));
  if (!complete) await deletions.send(message);
}
