import type { ErrorCode } from '#contract/errors.ts';
import type { Permission } from '#contract/operation.ts';
import { FIRST_PASSWORD } from '#domain/account-passwords.ts';
import type { MemberRole, PermissionScope } from '#domain/vocabulary.ts';

/** A signed-in user, in the organization that the request is about; null where they are a member of none. */
export interface UserCaller {
  readonly kind: 'user';
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly sessionId: string | null;
  /** Id of the password that opened the session, where it is not the account's first. */
  readonly password?: string;
  /** The organizations that the caller's identity provider speaks for, where these are not all. */
  readonly reach?: readonly string[];
  readonly orgId: string | null;
  readonly role: MemberRole | null;
  readonly scopes: readonly PermissionScope[];
}

export interface ApiKeyCaller {
  readonly kind: 'api_key';
  readonly id: string;
  readonly name: string;
  readonly orgId: string;
  readonly scopes: readonly PermissionScope[];
}

/** The password that a user is signed in with; null: none, an identity provider. */
export function passwordOf({ sessionId, password = FIRST_PASSWORD }: UserCaller): string | null {
  return sessionId === null ? null : password;
}

export type Caller = UserCaller | ApiKeyCaller;

/** A caller whose organization is known: what every operation behind a scope is given. */
export type OrgCaller = Caller & { readonly orgId: string };

export type CallerFor<P extends Permission> = P extends 'public'
  ? null
  : P extends 'signed-in'
    ? Caller
    : P extends 'signed-in-user'
      ? UserCaller
      : OrgCaller;

/** The window with the least left, as the three headers show it; `retryAfter` where it is used up. */
export interface RateWindow {
  readonly limit: number;
  readonly remaining: number;
  /** Unix time in seconds. */
  readonly reset: number;
  readonly retryAfter: number | null;
}

/**
 * What the authorizer tells the function: always an answer, never a refusal of the gateway's own,
 * which could carry neither our codes nor our headers (design 1). Values are strings, because
 * that is what every gateway passes on unchanged.
 */
export interface AuthorizerContext {
  /** `req_<id>`: the one name of the request. */
  readonly requestId?: string;
  /** JSON of a Caller; absent where there is none. */
  readonly caller?: string;
  /** Why there is none. */
  readonly refusal?: ErrorCode;
  /** JSON of a RateWindow; absent where counting failed, which lets the request pass. */
  readonly rate?: string;
}
