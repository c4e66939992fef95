import { FIRST_PASSWORD } from '#domain/account-passwords.ts';
import type { Attribution } from '#domain/actor.ts';
import { ServiceError } from '#domain/errors.ts';
import { passwordOf, type UserCaller } from '#http/caller.ts';
import { refuseWeakPassword } from '#shared/security/password-policy.ts';
import { hashPassword, verifyPassword } from '#shared/security/passwords.ts';
import { passwordsOf } from '#store/users.ts';
import { type AuthDependencies, organizationsOf } from './sign-in.ts';

/**
 * Sets another password, where the current one is known and the new one is none that anybody would
 * guess. Every session that it opened ends, the calling one included.
 * @throws ServiceError unauthorized, validation_error, or conflict (changed by another request meanwhile)
 */
export async function changePassword(
  caller: UserCaller,
  passwords: { readonly current_password: string; readonly new_password: string },
  attribution: Attribution,
  dependencies: AuthDependencies,
): Promise<void> {
  const { organizations, sessions } = dependencies;
  const userId = caller.id;
  const user = await organizations.getUser(userId);
  const signedInWith = passwordOf(caller) ?? FIRST_PASSWORD;
  const current = user ? passwordsOf(user).find(({ id }) => id === signedInWith) : undefined;
  const fits = await verifyPassword(passwords.current_password, current?.hash ?? null);
  const orgIds = await organizationsOf(userId, signedInWith, dependencies);
  if (!user || !current || !fits) {
    await sessions.recordRefusal(orgIds, attribution, {
      action: 'user.password_change_refused',
      userId,
      reason: current ? 'wrong_password' : 'no_password',
    });
    throw new ServiceError('unauthorized', 'The current password is wrong');
  }
  refuseWeakPassword('new_password', passwords.new_password, user);
  await sessions.changePassword(
    user,
    current,
    await hashPassword(passwords.new_password),
    orgIds,
    attribution,
  );
}
