import type { Attribution } from '#domain/actor.ts';
import { ServiceError } from '#domain/errors.ts';
import { refuseWeakPassword } from '#shared/security/password-policy.ts';
import { hashPassword, verifyPassword } from '#shared/security/passwords.ts';
import { type AuthDependencies, organizationsOf } from './sign-in.ts';

/**
 * Sets another password, where the current one is known and the new one is none that anybody would
 * guess. Every session of the user ends, the calling one included.
 * @throws ServiceError unauthorized, validation_error, or conflict (changed by another request meanwhile)
 */
export async function changePassword(
  userId: string,
  passwords: { readonly current_password: string; readonly new_password: string },
  attribution: Attribution,
  dependencies: AuthDependencies,
): Promise<void> {
  const { organizations, sessions } = dependencies;
  const user = await organizations.getUser(userId);
  const fits = await verifyPassword(passwords.current_password, user?.password_hash ?? null);
  const orgIds = await organizationsOf(userId, dependencies);
  if (!user || !fits) {
    await sessions.recordRefusal(orgIds, attribution, {
      action: 'user.password_change_refused',
      userId,
      reason: user?.password_hash === null ? 'no_password' : 'wrong_password',
    });
    throw new ServiceError('unauthorized', 'The current password is wrong');
  }
  refuseWeakPassword('new_password', passwords.new_password, user);
  await sessions.changePassword(user, await hashPassword(passwords.new_password), orgIds, attribution);
}
