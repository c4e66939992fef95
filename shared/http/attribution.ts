import type { Actor, Attribution } from '#domain/actor.ts';
import type { Clock } from '#domain/clock.ts';
import type { Caller } from './caller.ts';

/** The circumstances of a change that a request makes. */
export function attributionOf(
  input: { readonly caller: Caller; readonly requestId: string; readonly ip: string },
  clock: Clock,
): Attribution {
  return { actor: actorOf(input.caller), requestId: input.requestId, ip: input.ip, at: clock.now() };
}

function actorOf(caller: Caller): Actor {
  return { type: caller.kind, id: caller.id, name: caller.kind === 'user' ? caller.email : caller.name };
}
