/** Who did something: a signed-in user, an API key, or the service itself. */
export interface Actor {
  readonly type: 'user' | 'api_key' | 'system';
  readonly id: string | null;
  readonly name: string;
}

/** A change's circumstances: what its audit entry says besides the change. */
export interface Attribution {
  readonly actor: Actor;
  /** null: what comes of no request, or of the one that it is done for (see request-scope.ts). */
  readonly requestId: string | null;
  readonly ip: string | null;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** How records name their author: an e-mail, or `key:NAME` (design 10). */
export function authorName(actor: Actor): string {
  return actor.type === 'api_key' ? `key:${actor.name}` : actor.name;
}
