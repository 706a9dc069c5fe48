import { describe, expect, it } from 'vitest';
import { mailVariables } from '../../lib/config/mail.ts';
import { readConfig } from '../../lib/config/read.ts';

describe('the variables of mail', () => {
  it.each([
    ['RESEND_API_KEY', 're_hunter2\r\nX-Header: 1'],
    ['RESEND_BASE_URL', 'http://hunter2.example'],
    ['RESEND_BASE_URL', 'https://name:hunter2@mail.example'],
    ['SMTP_FROM', 'hunter2'],
    ['SMTP_FROM', 'Backups <hunter2>'],
    ['SMTP_FROM', 'A\nBcc: x@example.com <hunter2@example.com>'],
    ['SMTP_TO', 'ops@example.com, hunter2'],
    ['SMTP_TO', Array.from({ length: 51 }, (_, n) => `hunter2-${n}@example.com`).join()],
    ['REPORTS_ACCEPT_INTERNAL', 'hunter2'],
  ])('reject %s=%j without repeating the value', (name, value) => {
    const read = () => readConfig(mailVariables, { [name]: value });
    expect(read).toThrow(new RegExp(`^${name} must `));
    expect(read).not.toThrow(/hunter2/);
  });

  it('allow no recipients and send no mail by default', () => {
    expect(readConfig(mailVariables, {})).toEqual({
      RESEND_BASE_URL: 'https://api.resend.com',
      SMTP_TO: [],
      REPORTS_ACCEPT_INTERNAL: false,
    });
  });

  it.each(['backups@example.com', 'Backups <backups@example.com>', '<backups@example.com>'])(
    'accept %s as a sender',
    (SMTP_FROM) => {
      expect(readConfig(mailVariables, { SMTP_FROM }).SMTP_FROM).toBe(SMTP_FROM);
    },
  );

  it('contain a list of addresses, and the URL of the service without trailing slashes', () => {
    const config = readConfig(mailVariables, {
      SMTP_TO: ' Ops@example.com, boss@example.com ,',
      RESEND_BASE_URL: 'http://127.0.0.1:9//',
    });
    expect(config.SMTP_TO).toEqual(['Ops@example.com', 'boss@example.com']);
    expect(config.RESEND_BASE_URL).toBe('http://127.0.0.1:9');
  });
});
