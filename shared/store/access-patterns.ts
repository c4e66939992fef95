/**
 * Every way in which the table is read or conditionally changed: the question, where its answer is,
 * and what it costs. A test asks each question of a real table and counts the requests;
 * docs/data-model.md shows the same rows.
 */
interface AccessPattern {
  readonly question: string;
  /** `table`, or the index that answers. */
  readonly index: 'table' | 'gsi1' | 'gsi2' | 'gsi3';
  readonly key: string;
  /** Store requests, where the answer fits into one page of each. */
  readonly requests: number;
}

export const ACCESS_PATTERNS = {
  organization: { question: 'an organization', index: 'table', key: 'ORG#o / ORG', requests: 1 },
  userByEmail: {
    question: 'the user of an e-mail',
    index: 'table',
    key: 'EMAIL#e / EMAIL, USER#u / USER',
    requests: 2,
  },
  membershipsOfUser: {
    question: 'organizations of a user, with roles',
    index: 'table',
    key: 'USER#u / ORG#…, then ORG#o / ORG and MEMBER#u',
    requests: 2,
  },
  session: {
    question: 'a session with its user and memberships',
    index: 'table',
    key: 'USER#u / SESSION#s, USER#u / USER, ORG#o / MEMBER#u',
    requests: 1,
  },
  userIdByEmail: {
    question: 'which user an e-mail stands for',
    index: 'table',
    key: 'EMAIL#e / EMAIL',
    requests: 1,
  },
  memberOfOrganization: {
    question: 'a user with the membership in one organization',
    index: 'table',
    key: 'USER#u / USER, ORG#o / MEMBER#u',
    requests: 1,
  },
  firstMembership: {
    question: 'a user with the membership that began first',
    index: 'table',
    key: 'USER#u / ORG#…, then USER#u / USER and ORG#o / MEMBER#u',
    requests: 2,
  },
  userIdByIdentity: {
    question: 'which user an identity of a provider signs in',
    index: 'table',
    key: 'IDENTITY#h / IDENTITY',
    requests: 1,
  },
  organizationIdBySlug: {
    question: 'which organization a slug names',
    index: 'table',
    key: 'SLUG#s / SLUG',
    requests: 1,
  },
  invitationByToken: {
    question: 'the invitation that a token is of',
    index: 'table',
    key: 'INVITATION#h / INVITATION, then ORG#o#INVITATIONS / u',
    requests: 2,
  },
  invitationsOfOrganization: {
    question: 'invitations of an organization',
    index: 'table',
    key: 'ORG#o#INVITATIONS / u',
    requests: 1,
  },
  apiKeyByHandle: {
    question: 'the API key that 16 characters name',
    index: 'table',
    key: 'KEY#h / KEY',
    requests: 1,
  },
  apiKeysOfOrganization: {
    question: 'API keys of an organization',
    index: 'table',
    key: 'ORG#o / APIKEY#…, then KEY#h / KEY',
    requests: 2,
  },
  rateCounts: {
    question: 'count a request and read its windows',
    index: 'table',
    key: 'RATE#pool / hour',
    requests: 1,
  },
  project: { question: 'a project', index: 'table', key: 'ORG#o / PROJECT#p', requests: 1 },
  projectEntries: {
    question: 'projects under a parent, by name',
    index: 'table',
    key: 'ORG#o#PROJECTS#parent / name',
    requests: 1,
  },
  asset: { question: 'an asset', index: 'table', key: 'ORG#o / ASSET#a', requests: 1 },
  assetEntries: {
    question: 'assets of an organization or project, slim',
    index: 'table',
    key: 'ORG#o#ASSETS / a',
    requests: 1,
  },
  assetByPlace: {
    question: 'the asset of a clone URL or name',
    index: 'table',
    key: 'ORG#o#ASSETPLACES / type#place, then ORG#o / ASSET#a',
    requests: 2,
  },
  integration: {
    question: 'an integration',
    index: 'table',
    key: 'ORG#o#INTEGRATIONS / i',
    requests: 1,
  },
  integrationsOfOrganization: {
    question: 'integrations of an organization',
    index: 'table',
    key: 'ORG#o#INTEGRATIONS / i (UUIDv7)',
    requests: 1,
  },
  integrationSecrets: {
    question: 'the sealed secrets of an integration',
    index: 'table',
    key: 'ORG#o / INTEGRATIONSECRETS#i',
    requests: 1,
  },
  policiesOfOrganization: {
    question: 'policies of an organization, and of them those that judge findings',
    index: 'table',
    key: 'ORG#o#POLICIES / p (UUIDv7)',
    requests: 1,
  },
  policy: {
    question: 'a policy',
    index: 'table',
    key: 'ORG#o#POLICIES / p',
    requests: 1,
  },
  policyVersions: {
    question: 'versions of a policy, newest first',
    index: 'table',
    key: 'ORG#o#POLICYVERSIONS / p#n',
    requests: 1,
  },
  policyVersion: {
    question: 'one version of a policy',
    index: 'table',
    key: 'ORG#o#POLICYVERSIONS / p#n (9 digits)',
    requests: 1,
  },
  policySources: {
    question: 'sources of policies or versions',
    index: 'table',
    key: 'ORG#o#POLICYSOURCES / digest',
    requests: 1,
  },
  policyCode: {
    question: 'compiled policies, those not known to the process',
    index: 'table',
    key: 'ORG#o#POLICYCODE / digest',
    requests: 1,
  },
  policyRuns: {
    question: 'runs of a policy, newest first',
    index: 'table',
    key: 'ORG#o#POLICYRUNS / p#r (UUIDv7)',
    requests: 1,
  },
  scan: { question: 'a scan', index: 'table', key: 'ORG#o#SCANS / s', requests: 1 },
  scansByTime: {
    question: 'scans, newest first',
    index: 'table',
    key: 'ORG#o#SCANS / s (UUIDv7)',
    requests: 1,
  },
  queuedScans: {
    question: 'scans that wait, oldest first',
    index: 'table',
    key: 'ORG#o#QUEUED / s',
    requests: 1,
  },
  activeScans: {
    question: 'scans of all organizations that have not ended (sweep)',
    index: 'table',
    key: 'ACTIVESCANS / s#o',
    requests: 1,
  },
  runsOfScan: { question: 'runs of a scan', index: 'table', key: 'ORG#o#RUNS#s / a', requests: 1 },
  runById: {
    question: 'the run that a runner claims',
    index: 'table',
    key: 'ORG#o#RUNREFS / r, then ORG#o#RUNS#s / a',
    requests: 2,
  },
  waitingRuns: {
    question: 'runs that wait for scanner processes',
    index: 'table',
    key: 'ORG#o#WAITING / s#r',
    requests: 1,
  },
  runningOfOrganization: {
    question: 'how many scans and scanner processes of an organization run',
    index: 'table',
    key: 'ORG#o / CAPACITY',
    requests: 1,
  },
  runnerPlaces: {
    question: 'places of runners that are held, and organizations that wait for one (all organizations)',
    index: 'table',
    key: 'RUNNERS / PLACE#n, TURN#o',
    requests: 1,
  },
  finding: { question: 'a finding', index: 'table', key: 'ORG#o#F#f / F', requests: 1 },
  findingsOfOrganization: {
    question: 'findings of an organization by severity, status, scanner and time',
    index: 'gsi1',
    key: 'ORG#o#FINDINGS / cell#created#f#a#cve',
    requests: 2,
  },
  findingsOfAsset: {
    question: 'findings of an asset (or of a project: its assets, and what policies put there)',
    index: 'gsi2',
    key: 'ORG#o#FINDINGS#a or …#a#p / cell#created#f#a#cve',
    requests: 2,
  },
  assetsRoutedInto: {
    question: 'assets that policies put findings of into a project',
    index: 'table',
    key: 'ORG#o#ROUTES / p#a#…',
    requests: 1,
  },
  findingsOfCve: {
    question: 'findings of a CVE',
    index: 'gsi3',
    key: 'ORG#o#CVE#cve / cell#created#f#a#cve, beside ORG#o / DELETINGASSETS',
    requests: 2,
  },
  countsOfOrganization: {
    question: 'counts of an organization by cell',
    index: 'table',
    key: 'ORG#o#COUNT / LANE#n',
    requests: 1,
  },
  countsOfProject: {
    question: 'counts of a project or sub-project by cell',
    index: 'table',
    key: 'ORG#o#COUNT#p / LANE#n',
    requests: 1,
  },
  countsElsewhere: {
    question: 'counts of what policies put elsewhere of an asset, by place',
    index: 'table',
    key: 'ORG#o / COUNT#a#p',
    requests: 1,
  },
  waitingImports: {
    question: 'imports of an asset that have not ended, as they were accepted',
    index: 'table',
    key: 'ORG#o / IMPORTING#a#s',
    requests: 1,
  },
  countsOfAsset: {
    question: 'counts of an asset by cell',
    index: 'table',
    key: 'ORG#o / COUNT#a',
    requests: 1,
  },
  manifestHead: {
    question: 'take the lease of a manifest and read its head',
    index: 'table',
    key: 'ORG#o / MANIFEST#a#origin',
    requests: 1,
  },
  manifestHeads: {
    question: 'heads of the manifests of an asset, by origin',
    index: 'table',
    key: 'ORG#o / MANIFEST#a#…',
    requests: 1,
  },
  manifestChunks: {
    question: 'what an (asset, origin) reported last',
    index: 'table',
    key: 'ORG#o#CHUNKS#a#origin / hash',
    requests: 1,
  },
  revisits: {
    question: 'findings that a person decided otherwise than their scanner reports',
    index: 'table',
    key: 'ORG#o#REVISIT#a#origin / f',
    requests: 1,
  },
  suppressionEnds: {
    question: 'suppressions of an hour that have ended, over all organizations',
    index: 'table',
    key: 'SUPPRESSIONENDS#hour / time#o#f',
    requests: 1,
  },
  pendingDeletions: {
    question: 'deletions of all organizations that have not ended (sweep)',
    index: 'table',
    key: 'DELETIONS / o#part',
    requests: 1,
  },
  pendingReevaluations: {
    question: 're-evaluations of all organizations that have not ended (sweep)',
    index: 'table',
    key: 'REEVALUATIONS / o#a',
    requests: 1,
  },
  export: { question: 'an export', index: 'table', key: 'ORG#o#EXPORTS / e', requests: 1 },
  pendingExports: {
    question: 'exports of all organizations that have not ended (sweep)',
    index: 'table',
    key: 'PENDINGEXPORTS / o#e',
    requests: 1,
  },
  judgedOrganizations: {
    question: 'organizations that have had an active policy (daily)',
    index: 'table',
    key: 'JUDGEDORGS / o',
    requests: 1,
  },
  branchFindings: {
    question: 'what a scan of another branch found',
    index: 'table',
    key: 'ORG#o#SCANF#s / f',
    requests: 1,
  },
} as const satisfies Record<string, AccessPattern>;

export type AccessPatternName = keyof typeof ACCESS_PATTERNS;
