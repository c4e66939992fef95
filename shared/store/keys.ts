import { createHash } from 'node:crypto';
import type { Origin } from '#domain/origin.ts';
import type { Route } from '#domain/placement.ts';
import type { Key } from './table.ts';

/** What has members within an organization. */
export type GroupKind = 'team' | 'project';

/**
 * Every key of the table, built here and nowhere else. What belongs to an organization begins with
 * it, so that a key of one can't reach a record of another; the few that do not are those that find
 * the organization in the first place. docs/data-model.md shows them with their access patterns.
 */
const org = (orgId: string) => `ORG#${orgId}`;

// Before an organization is known.
export const userKey = (userId: string): Key => ({ pk: `USER#${userId}`, sk: 'USER' });
export const emailKey = (email: string): Key => ({ pk: `EMAIL#${email.toLowerCase()}`, sk: 'EMAIL' });
export const sessionKey = (userId: string, sessionId: string): Key => ({
  pk: `USER#${userId}`,
  sk: `SESSION#${sessionId}`,
});
export const userOrgKey = (userId: string, orgId: string): Key => ({
  pk: `USER#${userId}`,
  sk: `ORG#${orgId}`,
});
/** The user whom an identity of a provider signs in. @param hash of issuer and subject */
export const identityKey = (hash: string): Key => ({ pk: `IDENTITY#${hash}`, sk: 'IDENTITY' });
/** Which invitation a token is of. @param hash of the token */
export const invitationTokenKey = (hash: string): Key => ({ pk: `INVITATION#${hash}`, sk: 'INVITATION' });
export const slugKey = (slug: string): Key => ({ pk: `SLUG#${slug}`, sk: 'SLUG' });
/** `handle`: the 16 characters of an API key that name it. */
export const keyHandleKey = (handle: string): Key => ({ pk: `KEY#${handle}`, sk: 'KEY' });
/** `pool`: an organization, or an address for callers without one. `hour`: whole hours since the epoch. */
export const rateKey = (pool: string, hour: number): Key => ({ pk: `RATE#${pool}`, sk: String(hour) });

export const orgKey = (orgId: string): Key => ({ pk: org(orgId), sk: 'ORG' });
export const memberKey = (orgId: string, userId: string): Key => ({ pk: org(orgId), sk: `MEMBER#${userId}` });
/** What a user was asked to join: one invitation at a time. */
export const invitationKey = (orgId: string, userId: string): Key => ({
  pk: invitationsPartition(orgId),
  sk: userId,
});
export const invitationsPartition = (orgId: string): string => `${org(orgId)}#INVITATIONS`;
export const apiKeyKey = (orgId: string, keyId: string): Key => ({ pk: org(orgId), sk: `APIKEY#${keyId}` });
export const teamKey = (orgId: string, teamId: string): Key => ({ pk: org(orgId), sk: `TEAM#${teamId}` });
export const auditKey = (orgId: string, entryId: string): Key => ({ pk: auditPartition(orgId), sk: entryId });
export const auditPartition = (orgId: string): string => `${org(orgId)}#AUDIT`;
/** Keeps the names of teams unique. */
export const teamNameKey = (orgId: string, name: string): Key => ({
  pk: `${org(orgId)}#TEAMNAMES`,
  sk: fitted(foldName(name)),
});
/** A member of a team or project, from the group's side and from the user's. */
export const groupMemberKey = (orgId: string, kind: GroupKind, groupId: string, userId: string): Key => ({
  pk: groupMembersPartition(orgId, kind, groupId),
  sk: userId,
});
export const groupMembersPartition = (orgId: string, kind: GroupKind, groupId: string): string =>
  `${org(orgId)}#MEMBERSOF#${kind}#${groupId}`;
export const memberGroupKey = (orgId: string, kind: GroupKind, groupId: string, userId: string): Key => ({
  pk: memberGroupsPartition(orgId, userId),
  sk: `${kind}#${groupId}`,
});
export const memberGroupsPartition = (orgId: string, userId: string): string =>
  `${org(orgId)}#GROUPSOF#${userId}`;

export const projectKey = (orgId: string, projectId: string): Key => ({
  pk: org(orgId),
  sk: `PROJECT#${projectId}`,
});
/** A name within its parent: keeps names unique, and is the slim entry that lists read. */
export const projectNameKey = (orgId: string, parentId: string | null, name: string): Key => ({
  pk: projectNamesPartition(orgId, parentId),
  sk: fitted(foldName(name)),
});
export const projectNamesPartition = (orgId: string, parentId: string | null): string =>
  `${org(orgId)}#PROJECTS#${parentId ?? 'TOP'}`;

export const assetKey = (orgId: string, assetId: string): Key => ({ pk: org(orgId), sk: `ASSET#${assetId}` });
/** The slim entry that asset lists read. */
export const assetEntryKey = (orgId: string, assetId: string): Key => ({
  pk: assetEntriesPartition(orgId),
  sk: assetId,
});
export const assetEntriesPartition = (orgId: string): string => `${org(orgId)}#ASSETS`;
/** Keeps (type, clone URL), or (type, name) where there is no URL, unique. */
export const assetPlaceKey = (orgId: string, type: string, place: string): Key => ({
  pk: `${org(orgId)}#ASSETPLACES`,
  sk: `${type}#${fitted(place)}`,
});

export const integrationKey = (orgId: string, integrationId: string): Key => ({
  pk: integrationsPartition(orgId),
  sk: integrationId,
});
export const integrationsPartition = (orgId: string): string => `${org(orgId)}#INTEGRATIONS`;
/** Keeps the names of integrations unique. */
export const integrationNameKey = (orgId: string, name: string): Key => ({
  pk: `${org(orgId)}#INTEGRATIONNAMES`,
  sk: fitted(foldName(name)),
});
/** Its secrets, sealed: apart from the record, so that no list reads them. */
export const integrationSecretsKey = (orgId: string, integrationId: string): Key => ({
  pk: org(orgId),
  sk: `INTEGRATIONSECRETS#${integrationId}`,
});

export const policyKey = (orgId: string, policyId: string): Key => ({
  pk: policiesPartition(orgId),
  sk: policyId,
});
export const policiesPartition = (orgId: string): string => `${org(orgId)}#POLICIES`;
/** Keeps the names of policies unique. */
export const policyNameKey = (orgId: string, name: string): Key => ({
  pk: `${org(orgId)}#POLICYNAMES`,
  sk: fitted(foldName(name)),
});
export const policyVersionKey = (orgId: string, policyId: string, version: number): Key => ({
  pk: policyVersionsPartition(orgId),
  sk: `${policyVersionPrefix(policyId)}${String(version).padStart(9, '0')}`,
});
export const policyVersionsPartition = (orgId: string): string => `${org(orgId)}#POLICYVERSIONS`;
export const policyVersionPrefix = (policyId: string): string => `${policyId}#`;
/** Sources of policies and what they compile to, apart from each other, named by the digest of kind and source. */
export const policySourceKey = (orgId: string, digest: string): Key => ({
  pk: `${org(orgId)}#POLICYSOURCES`,
  sk: digest,
});
export const policyCodeKey = (orgId: string, digest: string): Key => ({
  pk: `${org(orgId)}#POLICYCODE`,
  sk: digest,
});
export const policyRunKey = (orgId: string, policyId: string, runId: string): Key => ({
  pk: policyRunsPartition(orgId),
  sk: `${policyRunPrefix(policyId)}${runId}`,
});
export const policyRunsPartition = (orgId: string): string => `${org(orgId)}#POLICYRUNS`;
export const policyRunPrefix = (policyId: string): string => `${policyId}#`;

export const scanKey = (orgId: string, scanId: string): Key => ({ pk: scansPartition(orgId), sk: scanId });
export const scansPartition = (orgId: string): string => `${org(orgId)}#SCANS`;
export const scanLockKey = (
  orgId: string,
  scope: string,
  targetId: string | null,
  branch: string | null,
): Key => ({
  pk: `${org(orgId)}#SCANLOCKS`,
  sk: `${scope}#${targetId ?? ''}#${fitted(branch ?? '')}`,
});
export const queuedScanKey = (orgId: string, scanId: string): Key => ({
  pk: queuedScansPartition(orgId),
  sk: scanId,
});
export const queuedScansPartition = (orgId: string): string => `${org(orgId)}#QUEUED`;
export const capacityKey = (orgId: string): Key => ({ pk: org(orgId), sk: 'CAPACITY' });
export const idempotencyKey = (orgId: string, operation: string, key: string): Key => ({
  pk: `${org(orgId)}#IDEMPOTENCY`,
  sk: `${operation}#${fitted(key)}`,
});
export const runKey = (orgId: string, scanId: string, assetId: string): Key => ({
  pk: runsPartition(orgId, scanId),
  sk: assetId,
});
export const runsPartition = (orgId: string, scanId: string): string => `${org(orgId)}#RUNS#${scanId}`;
/** Says that the scan was deleted, and its runs are going; sorts after each of them, so that it is the last to go. */
export const deletedRunsKey = (orgId: string, scanId: string): Key => ({
  pk: runsPartition(orgId, scanId),
  sk: '~DELETED',
});
/** Which scan and asset a run id stands for: what the runner's claim is traded by. */
export const runRefKey = (orgId: string, runId: string): Key => ({ pk: `${org(orgId)}#RUNREFS`, sk: runId });
export const waitingRunKey = (orgId: string, runId: string): Key => ({
  pk: waitingRunsPartition(orgId),
  sk: runId,
});
export const waitingRunsPartition = (orgId: string): string => `${org(orgId)}#WAITING`;
/** Places of runners, and the organizations that wait for one, over all organizations. */
export const RUNNERS = 'RUNNERS';
export const runnerPlaceKey = (place: number): Key => ({
  pk: RUNNERS,
  sk: `PLACE#${String(place).padStart(5, '0')}`,
});
export const runnerTurnKey = (orgId: string): Key => ({ pk: RUNNERS, sk: `TURN#${orgId}` });
/** The sweep's list of scans that have not ended, over all organizations. */
export const activeScanKey = (orgId: string, scanId: string): Key => ({
  pk: ACTIVE_SCANS,
  sk: `${scanId}#${orgId}`,
});
export const ACTIVE_SCANS = 'ACTIVESCANS';

export const findingKey = (orgId: string, findingId: string): Key => ({
  pk: `${org(orgId)}#F#${findingId}`,
  sk: 'F',
});
export const findingsPartition = (orgId: string): string => `${org(orgId)}#FINDINGS`;
/** @param route those that policies put elsewhere; null: those in the asset's own project */
export const assetFindingsPartition = (orgId: string, assetId: string, route: Route | null = null): string =>
  `${org(orgId)}#FINDINGS#${assetId}${route === null ? '' : `#${route}`}`;
/** An import that was accepted, and has not ended: those of an asset are taken in in their order. */
export const importingKey = (orgId: string, assetId: string, scanId: string): Key => ({
  pk: org(orgId),
  sk: `IMPORTING#${assetId}#${scanId}`,
});
/** Counts of what policies put elsewhere, one item a route. */
export const routedCountersKey = (orgId: string, assetId: string, route: Route): Key => ({
  pk: org(orgId),
  sk: `COUNT#${assetId}#${route}`,
});
export const routesPartition = (orgId: string): string => `${org(orgId)}#ROUTES`;
/** That findings of an asset were put into a project (or its sub-project) by this route. */
export const routeKey = (orgId: string, projectId: string, assetId: string, route: Route): Key => ({
  pk: routesPartition(orgId),
  sk: `${projectId}#${assetId}#${route}`,
});
export const cveFindingsPartition = (orgId: string, cveId: string): string => `${org(orgId)}#CVE#${cveId}`;
/** What a scan of another branch found: belongs to that scan alone. */
export const branchFindingKey = (orgId: string, scanId: string, findingId: string): Key => ({
  pk: branchFindingsPartition(orgId, scanId),
  sk: findingId,
});
export const branchFindingsPartition = (orgId: string, scanId: string): string =>
  `${org(orgId)}#SCANF#${scanId}`;
/** Findings whose status the next run of their scanner must look at: a person decided otherwise than it reports. */
export const revisitKey = (orgId: string, assetId: string, origin: Origin, findingId: string): Key => ({
  pk: revisitPartition(orgId, assetId, origin),
  sk: findingId,
});
export const revisitPartition = (orgId: string, assetId: string, origin: Origin): string =>
  `${org(orgId)}#REVISIT#${assetId}#${origin}`;
/** A suppression that ends in an hour (whole hours since the epoch), over all organizations. */
export const suppressionEndKey = (at: number, orgId: string, findingId: string): Key => ({
  pk: suppressionEndsPartition(Math.floor(at / 3_600_000)),
  sk: `${new Date(at).toISOString()}#${orgId}#${findingId}`,
});
export const suppressionEndsPartition = (hour: number): string => `SUPPRESSIONENDS#${hour}`;
/** The first hour whose suppressions may not all have ended yet. */
export const SUPPRESSION_CURSOR_KEY: Key = { pk: 'SUPPRESSIONENDS', sk: 'CURSOR' };

/** What the public feeds say of the CVEs of a shard: the same for every organization. */
export const scoresKey = (shard: number): Key => ({ pk: `CVESCORES#${shard}`, sk: 'SCORES' });
export const SCORE_SIZES_KEY: Key = { pk: 'CVESCORES', sk: 'SIZES' };

export const exportKey = (orgId: string, exportId: string): Key => ({
  pk: `${org(orgId)}#EXPORTS`,
  sk: exportId,
});
/** Exports that were accepted and have not ended, over all organizations. */
export const PENDING_EXPORTS = 'PENDINGEXPORTS';
/** @param exportId empty: what those of the organization begin with */
export const pendingExportKey = (orgId: string, exportId = ''): Key => ({
  pk: PENDING_EXPORTS,
  sk: `${orgId}#${exportId}`,
});

export const orgCountersPartition = (orgId: string): string => `${org(orgId)}#COUNT`;
export const projectCountersPartition = (orgId: string, projectId: string): string =>
  `${org(orgId)}#COUNT#${projectId}`;
/** One item a lane, in the partition of an organization or a project. */
export const laneKey = (partition: string, lane: number): Key => ({ pk: partition, sk: `LANE#${lane}` });
export const assetCountersKey = (orgId: string, assetId: string): Key => ({
  pk: org(orgId),
  sk: `COUNT#${assetId}`,
});

export const manifestKey = (orgId: string, assetId: string, origin: Origin): Key => ({
  pk: org(orgId),
  sk: `MANIFEST#${assetId}#${origin}`,
});
/** Heads of every origin that an asset has reports of. */
export const manifestsPrefix = (orgId: string, assetId: string): Key => ({
  pk: org(orgId),
  sk: `MANIFEST#${assetId}#`,
});
export const manifestChunkKey = (orgId: string, assetId: string, origin: Origin, hash: string): Key => ({
  pk: `${org(orgId)}#CHUNKS#${assetId}#${origin}`,
  sk: hash,
});

/** Re-evaluations by policies that were asked for and have not ended, over all organizations. */
export const REEVALUATIONS = 'REEVALUATIONS';
/** @param assetId null: all of the organization's findings */
export const reevaluationKey = (orgId: string, assetId: string | null): Key => ({
  pk: REEVALUATIONS,
  sk: `${orgId}#${assetId ?? ''}`,
});
/** Organizations that have had an active policy: whom the daily feeds may concern. */
export const JUDGED_ORGANIZATIONS = 'JUDGEDORGS';
export const judgedOrganizationKey = (orgId: string): Key => ({ pk: JUDGED_ORGANIZATIONS, sk: orgId });

/** Assets of an organization whose findings are still being deleted: lists leave them out. */
export const deletingAssetsKey = (orgId: string): Key => ({ pk: org(orgId), sk: 'DELETINGASSETS' });

/** Deletions that were accepted and have not ended, over all organizations. */
export const DELETIONS = 'DELETIONS';
/** @param part `asset#<id>` or `scan#<id>`; empty: the whole organization */
export const deletionKey = (orgId: string, part = ''): Key => ({ pk: DELETIONS, sk: `${orgId}#${part}` });
export const ratePartition = (pool: string): string => `RATE#${pool}`;

/** Partitions that an organization has once: what its deletion empties without looking inside. */
export const singlePartitions = (orgId: string): string[] => [
  ...[
    'AUDIT',
    'TEAMNAMES',
    'PROJECTS#TOP',
    'ASSETPLACES',
    'SCANLOCKS',
    'QUEUED',
    'IDEMPOTENCY',
    'RUNREFS',
    'WAITING',
    'COUNT',
    'ROUTES',
    'EXPORTS',
    'INTEGRATIONS',
    'INTEGRATIONNAMES',
    'POLICIES',
    'POLICYNAMES',
    'POLICYVERSIONS',
    'POLICYSOURCES',
    'POLICYCODE',
    'POLICYRUNS',
  ].map((name) => `${org(orgId)}#${name}`),
  ratePartition(orgId),
];
export const chunksPartition = (orgId: string, assetId: string, origin: Origin): string =>
  `${org(orgId)}#CHUNKS#${assetId}#${origin}`;

/** Of the 1,024 bytes that a sort key has, what is left to a text beside the other parts of the key. */
const LONGEST_TEXT = 850;
const KEPT_OF_TEXT = 600;

/**
 * A caller's text as part of a key. One that would not fit is its beginning and its digest: still the same key
 * for the same text and nearly in its place among others.
 */
function fitted(text: string): string {
  if (Buffer.byteLength(text) <= LONGEST_TEXT) return text;
  // Bytes that the cut leaves of a character become a replacement character.
  const beginning = Buffer.from(text).subarray(0, KEPT_OF_TEXT).toString();
  return `${beginning}~${createHash('sha256').update(text).digest('hex')}`;
}

/** Names are compared without case, width, surrounding space, and what nobody sees of them. */
export function foldName(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/\u200c|\u200d|\ufe0e|\ufe0f/g, '')
    .trim()
    .toLowerCase();
}
