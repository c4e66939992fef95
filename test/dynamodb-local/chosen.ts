/** The store that a run of the tests is about. */
export type Engine = 'embedded' | 'dynamodb-local';

/** Set by `npm run test:dynamodb-local`. */
export const ENGINE_SETTING = 'ASPM_TEST_ENGINE';

export function chosenEngine(): Engine {
  return process.env[ENGINE_SETTING] === 'dynamodb-local' ? 'dynamodb-local' : 'embedded';
}
