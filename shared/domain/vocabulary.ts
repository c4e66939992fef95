/** The closed lists of the specification ("Enumerations"), in its order and spelling. */

export const SEVERITIES = ['critical', 'high', 'medium', 'low', 'info'] as const;
export type Severity = (typeof SEVERITIES)[number];

export const FINDING_STATUSES = [
  'open',
  'triaged',
  'confirmed',
  'suppressed',
  'resolved',
  'in_progress',
  'reopened',
] as const;
export type FindingStatus = (typeof FINDING_STATUSES)[number];

// Spec silent: why a finding is suppressed; design 3 names them.
export const SUPPRESSION_REASONS = [
  'acceptable_risk',
  'false_positive',
  'mitigating_control',
  'used_in_tests',
  'not_applicable',
] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

export const SCANNERS = ['semgrep', 'grype', 'trivy', 'gitleaks'] as const;
export type Scanner = (typeof SCANNERS)[number];

/** Those whose vulnerability databases the service keeps for its runners. */
export const KEPT_DATABASES = ['grype', 'trivy'] as const satisfies readonly Scanner[];
export type KeptDatabase = (typeof KEPT_DATABASES)[number];

/** Whether exclusions and comments in a repository hide findings of its organization: `overrule`, they never do. */
export const REPOSITORY_EXCLUSIONS = ['overrule', 'honour'] as const;
export type RepositoryExclusions = (typeof REPOSITORY_EXCLUSIONS)[number];

/** What in a repository, or in a report that was made of it, hides a finding: a comment, or an exclusion. */
const HIDING_COMMENTS = ['nosemgrep', 'gitleaks_allow', 'trivy_comment', 'sarif_in_source'] as const;
export const HIDING_EXCLUSIONS = [
  'semgrepignore',
  'gitleaksignore',
  'gitleaks_config',
  'trivyignore',
  'trivy_secret_config',
  'sarif_external',
] as const;
export const HIDING_KINDS = [...HIDING_COMMENTS, ...HIDING_EXCLUSIONS] as const;
export type HidingKind = (typeof HIDING_KINDS)[number];

export const SCOPES = ['organization', 'project', 'asset'] as const;
export type Scope = (typeof SCOPES)[number];

export const PERMISSIONS = [
  'scans:read',
  'scans:write',
  'findings:read',
  'findings:write',
  'policies:read',
  'policies:write',
  'projects:read',
  'projects:write',
  'tickets:read',
  'tickets:write',
  'admin',
] as const;
/** A permission scope of an API key; users get theirs from their role. */
export type PermissionScope = (typeof PERMISSIONS)[number];

export const ROLES = ['Viewer', 'Editor', 'Policy Editor', 'Project Admin', 'Admin'] as const;
export type Role = (typeof ROLES)[number];

/** What a membership carries: a role of the table, or the specification's default when a member is added. */
export const MEMBER_ROLES = [...ROLES, 'member'] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

export const TIERS = ['free', 'pro', 'enterprise'] as const;
export type Tier = (typeof TIERS)[number];

// Spec silent: what a finding is about. The scanners overlap (Trivy alone finds three kinds).
export const FINDING_CATEGORIES = ['code', 'secret', 'vulnerability', 'misconfiguration'] as const;
export type FindingCategory = (typeof FINDING_CATEGORIES)[number];

// Spec silent: what webhooks tell of; design 7 names them.
export const WEBHOOK_EVENTS = [
  'scan.completed',
  'scan.failed',
  'scan.cancelled',
  'finding.created',
  'finding.reopened',
  'ticket.updated',
  'webhook.failed',
] as const;

// Spec silent: the states of a scan; design fixes them.
export const SCAN_STATUSES = ['queued', 'running', 'completed', 'partial', 'failed', 'cancelled'] as const;
export type ScanStatus = (typeof SCAN_STATUSES)[number];
