import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PASSWORD_LENGTH, passwordProblems } from '#shared/security/password-policy.ts';

const owner = { email: 'jane.miller@example.com', name: 'Jane Miller' };
const problems = (password: string) => passwordProblems(password, owner);

describe('a password that somebody chooses', () => {
  it.each([
    'ladder copper violin meadow',
    'ladderCopperViolin',
    'a long enough one',
    'a password for the bench',
    'jane likes her violin a lot',
    'пароль который никто не знает',
    '長い合言葉は誰にも分からないはず',
    'only-lower-case',
    '       spaces count too      ',
    '🦊🐻🐼🐨🐯🦁🐮🐷🐸🐵🐔🐧🐦🦆🦅',
    '83749283746512804',
    'x'.repeat(20) + 'ladder copper'.repeat(3),
  ])('may be %j', (password) => {
    expect(problems(password)).toEqual([]);
  });

  it.each([
    ['', 'at least 15'],
    ['ladder copper!', 'at least 15'],
    // Fourteen code points, though twenty-eight UTF-16 units.
    ['🦊🐻🐼🐨🐯🦁🐮🐷🐸🐵🐔🐧🐦🦆', 'at least 15'],
    // Eighteen code points, nine after NFKC.
    ['e\u0301a\u0301i\u0301o\u0301u\u0301n\u0303c\u0327a\u0300e\u0300', 'at least 15'],
    ['ladder copper violin '.repeat(7), 'at most 128'],
    ['Correct Horse Battery Staple', 'many people use'],
    ['1qaz2wsx3edc4rfv', 'many people use'],
    ['aaaaaaaaaaaaaaaaaaaa', 'more than'],
    ['abcabcabcabcabcabc', 'more than'],
    ['password password', 'more than'],
    ['PASSWORDpassword123', 'more than'],
    ['123456789012345678', 'more than'],
    ['abcdefghijklmnopqrs', 'more than'],
    ['zyxwvutsrqponmlkji', 'more than'],
    ['qwertyuiopasdfghjkl', 'more than'],
    ['jane.miller@example.com', 'more than'],
    ['Jane Miller 2026!!!', 'more than'],
    ['janemillerjanemiller', 'more than'],
    ['aspm-admin-password', 'more than'],
    ['ApplicationSecurityPostureManagement', 'more than'],
    ['!!!!!!!!!!!!!!!!!!!!', 'more than'],
    ['\ud800 ladder copper violin', 'well-formed'],
  ])('may not be %j', (password, why) => {
    expect(problems(password)).toHaveLength(1);
    expect(problems(password)[0]).toContain(why);
  });

  it('is counted in code points after NFKC, whatever it is made of', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (password) => {
        const length = [...password.normalize('NFKC')].length;
        const [problem] = problems(password);
        if (length < PASSWORD_LENGTH.minimum) expect(problem).toContain('at least');
        else if (length > PASSWORD_LENGTH.maximum) expect(problem).toContain('at most');
        else expect(problem ?? '').not.toMatch(/at (least|most)/);
      }),
    );
  });

  it('is hardly ever refused where it is random', () => {
    const random = fc.string({
      unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789'),
      minLength: 18,
      maxLength: 18,
    });
    const refused = fc.sample(random, { numRuns: 500, seed: 1 }).filter((text) => problems(text).length > 0);
    expect(refused).toEqual([]);
  });
});
