/**
 * The error catalogue: every code that the API can answer, with its status and what the caller
 * may do about it. The codes are the specification's ("Errors"), and those below the line ours,
 * for what it leaves without a code. The domain throws codes; only the HTTP chain knows statuses.
 */
interface CatalogueEntry {
  readonly status: 400 | 401 | 403 | 404 | 405 | 409 | 413 | 422 | 429 | 500 | 502 | 503;
  /** Shown under `suggestion` with `verbose=true`; follows the specification's retry guidance. */
  readonly suggestion: string;
}

export const ERRORS = {
  unauthorized: { status: 401, suggestion: 'Send a valid API key or access token, or sign in again.' },
  token_expired: {
    status: 401,
    suggestion: 'Get a new access token with POST /api/auth/refresh, then retry once.',
  },
  token_invalid: { status: 401, suggestion: 'Sign in again with POST /api/auth/login, then retry once.' },
  api_key_revoked: { status: 401, suggestion: 'Use another API key of the organization.' },
  api_key_expired: { status: 401, suggestion: 'Create a new API key; an expired one cannot be extended.' },
  insufficient_permissions: {
    status: 403,
    suggestion:
      'Use a key with the missing scope, or ask an admin of the organization for a role that has it.',
  },
  validation_error: {
    status: 400,
    suggestion: 'Correct the fields listed in details and send the request again.',
  },
  invalid_json: { status: 400, suggestion: 'Send a JSON body with Content-Type: application/json.' },
  missing_field: { status: 400, suggestion: 'Add the fields listed in details.' },
  invalid_parameter: { status: 400, suggestion: 'Correct the query parameters listed in details.' },
  not_found: { status: 404, suggestion: 'Check the identifier, and that it belongs to your organization.' },
  already_exists: { status: 409, suggestion: 'Use the existing record, or choose another name.' },
  conflict: { status: 409, suggestion: 'Read the record again: its state does not allow this operation.' },
  cannot_delete: { status: 409, suggestion: 'Remove or move what depends on the record first.' },
  rego_parse_error: { status: 422, suggestion: 'Correct the Rego at the line given in details.' },
  rego_compile_error: { status: 422, suggestion: 'Correct the Rego at the lines given in details.' },
  policy_conflict: {
    status: 422,
    suggestion: 'Make the rules exclusive, so that one input gives one decision.',
  },
  invalid_policy_kind: {
    status: 400,
    suggestion: 'Use one of triage, priority, ownership, project, pr_scan.',
  },
  invalid_package: { status: 422, suggestion: 'Name the package svc.<kind>.' },
  scan_already_running: { status: 409, suggestion: 'Wait for the running scan of this scope, or cancel it.' },
  scan_limit_exceeded: { status: 429, suggestion: 'Wait until queued scans have started, then retry.' },
  clone_failed: {
    status: 500,
    suggestion: 'Check the clone URL, the branch and the credentials of the repository.',
  },
  scanner_timeout: {
    status: 500,
    suggestion: 'Exclude large generated files, or scan fewer scanners at once.',
  },
  rate_limited: { status: 429, suggestion: 'Retry after the number of seconds in Retry-After.' },
  // Ours: what the specification's catalogue has no code for.
  method_not_allowed: { status: 405, suggestion: 'Use one of the methods in the Allow header.' },
  policy_evaluation_error: {
    status: 422,
    suggestion: 'Make the policy cheaper or total: it failed, or took too long or too much memory.',
  },
  payload_too_large: { status: 413, suggestion: 'Send a smaller body.' },
  internal_error: {
    status: 500,
    suggestion: 'Retry with growing waits, at most 3 times; quote the X-Request-ID.',
  },
  upstream_unavailable: { status: 502, suggestion: 'Retry after 30 seconds.' },
  service_unavailable: { status: 503, suggestion: 'Retry after 30 seconds.' },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof ERRORS;
