// ruleid: javascript-hardcoded-credential
const databasePassword = 'aaaa1111';

export const connection = {
  host: 'db',
  user: 'app',
  password: databasePassword,
};

export const client = createClient({
  host: 'db',
});

// ruleid: javascript-hardcoded-credential
export const mail = { user: 'mailer', password: 'bbbb2222' };

// ok: javascript-hardcoded-credential
export const mailFixed = { user: 'mailer', password: process.env.MAIL_PASSWORD };

// ok: javascript-hardcoded-credential
export const labels = { password: 'Password (8 characters)' };
