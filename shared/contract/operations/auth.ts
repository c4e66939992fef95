import * as z from 'zod';
import { PASSWORD_LENGTH } from '#shared/security/password-policy.ts';
import { declareGroup } from '../operation.ts';
import { opaqueIdInput, optionalPageQuery, Uuid } from '../schemas/common.ts';
import { AcceptedInvitation, CurrentUser, OrgRead, TokenPair } from '../schemas/records.ts';

// Spec silent: the organization that the session works in (design 2); default the earliest joined.
const OrganizationChoice = z
  .union([Uuid, opaqueIdInput('organization')], { error: 'must be the id of an organization' })
  .optional();

/** Characters are code points of the normalised text: the policy counts them, not this schema. */
const NewPassword = z
  .string()
  .min(1)
  .max(1024)
  .meta({
    minLength: PASSWORD_LENGTH.minimum,
    maxLength: PASSWORD_LENGTH.maximum,
    description: `${PASSWORD_LENGTH.minimum} to ${PASSWORD_LENGTH.maximum} characters of any kind; none that anybody would guess`,
    example: 'four unrelated ordinary words',
  });

/** Whatever is no token of an invitation that is open is `not_found`, alike. */
const InvitationToken = z.string().trim().min(1).max(200);

export const auth = declareGroup('auth', {
  login: {
    family: 'B',
    method: 'POST',
    path: '/api/auth/login',
    summary: 'Sign in with e-mail and password',
    permission: 'public',
    body: z.object({
      email: z.string().trim().min(3).max(254),
      password: z.string().min(1).max(1024),
      org_id: OrganizationChoice,
    }),
    response: { status: 200, schema: TokenPair },
    errors: ['unauthorized', 'not_found'],
  },
  refresh: {
    family: 'B',
    method: 'POST',
    path: '/api/auth/refresh',
    summary: 'Get a new access token for a refresh token',
    permission: 'public',
    body: z.object({ refresh_token: z.string().min(1).max(4096), org_id: OrganizationChoice }),
    response: { status: 200, schema: TokenPair },
    errors: ['token_invalid', 'token_expired', 'not_found'],
  },
  logout: {
    family: 'B',
    method: 'POST',
    path: '/api/auth/logout',
    summary: 'End a session: its refresh token serves no more',
    permission: 'signed-in',
    body: z.object({ refresh_token: z.string().min(1).max(4096).optional() }),
    bodyOptional: true,
    response: { status: 200, schema: z.object({ logged_out: z.literal(true) }) },
    errors: [],
  },
  changePassword: {
    family: 'B',
    method: 'POST',
    path: '/api/auth/password',
    summary:
      'Change the password that you are signed in with; ends all sessions that it opened, the one that asks included',
    permission: 'signed-in-user',
    addition: true,
    body: z.object({
      current_password: z.string().min(1).max(1024),
      new_password: NewPassword,
    }),
    response: { status: 200, schema: z.object({ changed: z.literal(true) }) },
    errors: ['conflict'],
  },
  acceptInvitation: {
    family: 'B',
    method: 'POST',
    path: '/api/auth/invitations/accept',
    summary: 'Accept an invitation as who you are signed in as: the organization opens to the same sign-in',
    permission: 'signed-in-user',
    addition: true,
    body: z.object({ token: InvitationToken }),
    response: { status: 200, schema: AcceptedInvitation },
    errors: ['not_found', 'conflict'],
  },
  acceptInvitationWithPassword: {
    family: 'B',
    method: 'POST',
    path: '/api/auth/invitations/password',
    summary: 'Accept an invitation with a new password, which opens that organization alone',
    permission: 'public',
    addition: true,
    body: z.object({ token: InvitationToken, password: NewPassword }),
    response: { status: 200, schema: AcceptedInvitation },
    errors: ['not_found', 'conflict'],
  },
  declineInvitation: {
    family: 'B',
    method: 'POST',
    path: '/api/auth/invitations/decline',
    summary: 'Decline an invitation',
    permission: 'public',
    addition: true,
    body: z.object({ token: InvitationToken }),
    response: { status: 200, schema: z.object({ declined: z.literal(true) }) },
    errors: ['not_found'],
  },
  getCurrentUser: {
    family: 'A',
    method: 'GET',
    path: '/api/auth/me',
    summary: 'Who the credential belongs to, and what it may do',
    permission: 'signed-in',
    response: { status: 200, schema: CurrentUser },
    errors: [],
  },
  listOwnOrganizations: {
    family: 'A',
    method: 'GET',
    path: '/api/auth/orgs',
    summary: 'Organizations of the caller',
    permission: 'signed-in',
    query: z.object(optionalPageQuery),
    response: { status: 200, schema: z.array(OrgRead) },
    errors: [],
  },
});
