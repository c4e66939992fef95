import * as z from 'zod';
import {
  FINDING_CATEGORIES,
  FINDING_STATUSES,
  HIDING_KINDS,
  MEMBER_ROLES,
  PERMISSIONS,
  REPOSITORY_EXCLUSIONS,
  SCAN_STATUSES,
  SCANNERS,
  SCOPES,
  SEVERITIES,
  SUPPRESSION_REASONS,
  TIERS,
} from '#domain/vocabulary.ts';
import { opaqueId, Timestamp, Uuid } from './common.ts';

/** The records as they go over the wire. Each is made for one family; only the ids differ. */

const counts = <const Names extends readonly string[]>(names: Names) =>
  z.object(
    Object.fromEntries(names.map((name) => [name, z.int().min(0)])) as { [N in Names[number]]: z.ZodInt },
  );

const SeverityCounts = counts(SEVERITIES).meta({ id: 'SeverityCounts' });

/** Every key present, zeros included (design 10). */
export const FindingSummary = z
  .object({
    total: z.int().min(0),
    by_severity: SeverityCounts,
    by_status: counts(FINDING_STATUSES),
    by_scanner: counts(SCANNERS),
  })
  .meta({ id: 'FindingSummary' });

export const TokenPair = z
  .object({
    access_token: z.string(),
    refresh_token: z.string(),
    expires_in: z.int(),
    token_type: z.literal('Bearer'),
  })
  .meta({ id: 'TokenPair' });

export const CurrentUser = z
  .object({
    type: z.enum(['user', 'api_key']),
    id: Uuid,
    email: z.email().nullable(),
    name: z.string(),
    created_at: Timestamp,
    last_login_at: Timestamp.nullable(),
    org_id: Uuid.nullable(),
    role: z.enum(MEMBER_ROLES).nullable(),
    scopes: z.array(z.enum(PERMISSIONS)),
  })
  .meta({ id: 'CurrentUser' });

/** Days from first detection to the due date; null: no due date. */
const Days = z.int().min(1).max(3650).nullable();
export const SlaDays = z.object({ critical: Days, high: Days, medium: Days, low: Days, info: Days });
const OrgSettings = z.object({
  sla_days: SlaDays,
  scan_schedule: z.object({ cron: z.string(), scanners: z.array(z.enum(SCANNERS)) }).nullable(),
  auto_resolve: z.boolean(),
  /** `honour`: exclusions and comments in repositories hide findings, which keep their status, marked. */
  repository_exclusions: z.enum(REPOSITORY_EXCLUSIONS),
});

function organization(id: z.ZodType<string>) {
  return z.object({
    id,
    name: z.string(),
    slug: z.string(),
    tier: z.enum(TIERS),
    settings: OrgSettings,
    created_at: Timestamp,
    updated_at: Timestamp,
  });
}
export const OrgRead = organization(Uuid).meta({ id: 'OrgRead' });
export const Organization = organization(opaqueId('organization')).meta({ id: 'Organization' });

/** What the person accepts with. The token is shown here alone. */
const IssuedInvitation = z
  .object({ id: opaqueId('invitation'), token: z.string(), expires_at: Timestamp })
  .meta({ id: 'IssuedInvitation' });

export const Invitation = z
  .object({
    id: opaqueId('invitation'),
    /** What the inviter knew: the e-mail, or the user's id. */
    email: z.string().nullable(),
    user_id: opaqueId('user').nullable(),
    role: z.enum(MEMBER_ROLES),
    created_at: Timestamp,
    created_by: z.string(),
    expires_at: Timestamp,
  })
  .meta({ id: 'Invitation' });

export const AcceptedInvitation = z
  .object({ accepted: z.literal(true), org_id: opaqueId('organization'), role: z.enum(MEMBER_ROLES) })
  .meta({ id: 'AcceptedInvitation' });

export const OrgMembershipRead = z
  .object({
    user_id: Uuid,
    org_id: Uuid,
    role: z.enum(MEMBER_ROLES),
    /** Null until an invitation is accepted. */
    email: z.string().nullable(),
    name: z.string().nullable(),
    created_at: Timestamp,
    /** Of who is invited, and no member yet. */
    invitation: IssuedInvitation.optional(),
  })
  .meta({ id: 'OrgMembershipRead' });

function team(id: z.ZodType<string>, orgId: z.ZodType<string>) {
  return z.object({
    id,
    org_id: orgId,
    name: z.string(),
    description: z.string().nullable(),
    member_count: z.int().min(0),
    created_at: Timestamp,
  });
}
export const TeamRead = team(Uuid, Uuid).meta({ id: 'TeamRead' });
export const Team = team(opaqueId('team'), opaqueId('organization')).meta({ id: 'Team' });

const groupMember = {
  user_id: Uuid,
  role: z.enum(MEMBER_ROLES),
  email: z.string(),
  name: z.string(),
  added_at: Timestamp,
};
export const TeamMemberRead = z.object({ team_id: Uuid, ...groupMember }).meta({ id: 'TeamMemberRead' });
export const ProjectMemberRead = z
  .object({ project_id: Uuid, ...groupMember })
  .meta({ id: 'ProjectMemberRead' });

export const User = z
  .object({
    id: opaqueId('user'),
    email: z.string(),
    name: z.string(),
    role: z.enum(MEMBER_ROLES),
    created_at: Timestamp,
    last_login_at: Timestamp.nullable(),
  })
  .meta({ id: 'User' });

/** Who is known already is only invited: no id then, and of e-mail and name what the inviter wrote. */
export const CreatedUser = z
  .object({ ...User.shape, id: opaqueId('user').nullable(), invitation: IssuedInvitation.nullable() })
  .meta({ id: 'CreatedUser' });

export const AuditEntry = z
  .object({
    id: z.string(),
    at: Timestamp,
    actor: z.object({
      type: z.enum(['user', 'api_key', 'system']),
      id: z.string().nullable(),
      name: z.string(),
    }),
    action: z.string(),
    target: z.object({ type: z.string(), id: z.string() }),
    changes: z.record(z.string(), z.unknown()),
    request_id: z.string().nullable(),
    ip: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' });

export const OrgApiKeyRead = z
  .object({
    id: Uuid,
    name: z.string(),
    prefix: z.string(),
    scopes: z.array(z.enum(PERMISSIONS)),
    created_at: Timestamp,
    created_by: z.string(),
    expires_at: Timestamp.nullable(),
    last_used_at: Timestamp.nullable(),
    revoked_at: Timestamp.nullable(),
  })
  .meta({ id: 'OrgApiKeyRead' });

export const OrgApiKeyCreated = z
  .object({ ...OrgApiKeyRead.shape, key: z.string() })
  .meta({ id: 'OrgApiKeyCreated' });

function project(id: z.ZodType<string>, teamId: z.ZodType<string>) {
  return z.object({
    id,
    name: z.string(),
    description: z.string().nullable(),
    parent_id: id.nullable(),
    team_id: teamId.nullable(),
    asset_count: z.int().min(0),
    finding_count: z.int().min(0),
    created_at: Timestamp,
    updated_at: Timestamp,
  });
}
export const Project = project(opaqueId('project'), opaqueId('team')).meta({ id: 'Project' });
export const ProjectRead = project(Uuid, Uuid).meta({ id: 'ProjectRead' });

export const ASSET_TYPES = ['repository', 'container_image', 'other'] as const;
export const CRITICALITIES = ['critical', 'high', 'medium', 'low'] as const;

function asset(id: z.ZodType<string>, projectId: z.ZodType<string>) {
  return z.object({
    id,
    name: z.string(),
    full_name: z.string(),
    type: z.enum(ASSET_TYPES),
    provider: z.string(),
    clone_url: z.string().nullable(),
    default_branch: z.string().nullable(),
    project_id: projectId.nullable(),
    sub_project_id: projectId.nullable(),
    integration_id: z.string().nullable(),
    criticality: z.enum(CRITICALITIES),
    tags: z.array(z.string()),
    finding_counts: SeverityCounts,
    last_scan_at: Timestamp.nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
  });
}
export const Asset = asset(opaqueId('asset'), opaqueId('project')).meta({ id: 'Asset' });
export const RepositoryRead = asset(Uuid, Uuid).meta({ id: 'RepositoryRead' });

/** What failed in a scan. `code` is of the catalogue, or of a scanner's run (docs/decisions.md). */
const ScanError = z
  .object({
    code: z.string(),
    message: z.string(),
    details: z.array(
      z.object({
        asset_id: opaqueId('asset'),
        scanner: z.enum(SCANNERS).nullable(),
        code: z.string(),
        message: z.string(),
      }),
    ),
  })
  .meta({ id: 'ScanError' });

export const Scan = z
  .object({
    id: opaqueId('scan'),
    scope: z.enum(SCOPES),
    target_id: z.union([opaqueId('project'), opaqueId('asset')]).nullable(),
    scanners: z.array(z.enum(SCANNERS)),
    branch: z.string().nullable(),
    commit: z.string().nullable(),
    trigger: z.enum(['api', 'schedule', 'push', 'pull_request', 'import']),
    status: z.enum(SCAN_STATUSES),
    progress: z.object({ total: z.int().min(0), done: z.int().min(0), failed: z.int().min(0) }),
    finding_counts: SeverityCounts,
    new_count: z.int().min(0),
    resolved_count: z.int().min(0),
    /** Findings that exclusions and comments of the repositories hide: the runs say which. */
    suppressed_in_repository_count: z.int().min(0),
    error: ScanError.nullable(),
    created_by: z.string(),
    created_at: Timestamp,
    started_at: Timestamp.nullable(),
    finished_at: Timestamp.nullable(),
  })
  .meta({ id: 'Scan' });

const SCANNER_RUN_STATUSES = ['waiting', 'running', 'completed', 'failed', 'cancelled'] as const;

/** One asset's part of a scan, with the state of each scanner: what live progress is made of. */
export const ScanRun = z
  .object({
    id: opaqueId('run'),
    asset_id: opaqueId('asset'),
    status: z.enum(SCANNER_RUN_STATUSES),
    commit: z.string().nullable(),
    scanners: z.array(
      z.object({
        scanner: z.enum(SCANNERS),
        status: z.enum(SCANNER_RUN_STATUSES),
        started_at: Timestamp.nullable(),
        finished_at: Timestamp.nullable(),
        finding_count: z.int().min(0).nullable(),
        /** What the repository hides of what is there: by kind, with the first 20 places. */
        suppressed_in_repository: z.array(
          z.object({
            kind: z.enum(HIDING_KINDS),
            count: z.int().min(1),
            places: z.array(z.object({ path: z.string(), line: z.int().nullable() })),
          }),
        ),
        error: z.object({ code: z.string(), message: z.string() }).nullable(),
      }),
    ),
    started_at: Timestamp.nullable(),
    finished_at: Timestamp.nullable(),
  })
  .meta({ id: 'ScanRun' });

export const Finding = z
  .object({
    id: opaqueId('finding'),
    title: z.string(),
    description: z.string(),
    severity: z.enum(SEVERITIES),
    status: z.enum(FINDING_STATUSES),
    scanner: z.enum(SCANNERS),
    /** Driver of an imported SARIF report where it is none of the four scanners. */
    tool: z.string().nullable(),
    rule_id: z.string(),
    category: z.enum(FINDING_CATEGORIES),
    cve_id: z.string().nullable(),
    cwe: z.array(z.string()),
    cvss_score: z.number().nullable(),
    epss_score: z.number().nullable(),
    epss_percentile: z.number().nullable(),
    kev: z.boolean(),
    package: z
      .object({
        name: z.string(),
        version: z.string(),
        fixed_version: z.string().nullable(),
        purl: z.string().nullable(),
      })
      .nullable(),
    location: z.object({
      path: z.string(),
      start_line: z.int().nullable(),
      end_line: z.int().nullable(),
    }),
    fix: z.string().nullable(),
    project_id: opaqueId('project').nullable(),
    sub_project_id: opaqueId('project').nullable(),
    asset_id: opaqueId('asset'),
    first_seen_scan_id: opaqueId('scan'),
    last_seen_scan_id: opaqueId('scan'),
    created_at: Timestamp,
    updated_at: Timestamp,
    age_days: z.int().min(0),
    resolved_at: Timestamp.nullable(),
    sla_due_at: Timestamp.nullable(),
    assignee: opaqueId('user').nullable(),
    notes: z.string().nullable(),
    suppression: z
      .object({
        reason: z.enum(SUPPRESSION_REASONS).nullable(),
        comment: z.string().nullable(),
        expires_at: Timestamp.nullable(),
      })
      .nullable(),
    /** What in the repository hides it from its scanner's reports, and where; its status stays. */
    suppressed_in_repository: z
      .object({ kind: z.enum(HIDING_KINDS), path: z.string(), line: z.int().nullable() })
      .nullable(),
    priority: z.union([z.string(), z.number()]).nullable(),
    owner: z.string().nullable(),
    policy_results: z.array(
      z.object({
        policy_id: opaqueId('policy'),
        kind: z.string(),
        version: z.int(),
        decision: z.unknown(),
        reason: z.string().nullable(),
      }),
    ),
    fingerprint: z.string(),
  })
  .meta({ id: 'Finding' });
