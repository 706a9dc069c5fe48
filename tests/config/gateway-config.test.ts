import { describe, expect, it } from 'vitest';
import { gatewayVariables } from '../../lib/config/gateway.ts';
import { readConfig } from '../../lib/config/read.ts';

describe('the variables of the gateway', () => {
  it.each([
    ['GATEWAY_BASE_URL', 'https://name:hunter2@gateway.example/v1'],
    ['GATEWAY_AUTH_URL', 'http://hunter2@gateway.example/keys'],
    ['GATEWAY_BASE_URL', 'ftp://gateway.example/hunter2'],
    ['GATEWAY_API_KEYS', 'sk-one,sk hunter2'],
    ['GATEWAY_API_KEYS', 'sk-hunter2\r\nX-Header: 1'],
    ['CREDENTIALS_ENCRYPTION_KEY', 'hunter2-is-too-short'],
    ['CREDENTIALS_ENCRYPTION_KEY', `${'a'.repeat(64)},hunter2`],
  ])('reject %s=%j without repeating the value', (name, value) => {
    const read = () => readConfig(gatewayVariables, { [name]: value });
    expect(read).toThrow(new RegExp(`^${name} must `));
    expect(read).not.toThrow(/hunter2/);
  });

  it('contain a pool of keys and a URL without trailing slashes', () => {
    const config = readConfig(gatewayVariables, {
      GATEWAY_BASE_URL: 'http://127.0.0.1:9/v1//',
      GATEWAY_API_KEYS: ' sk-one, sk-two ,',
    });
    expect(config.GATEWAY_BASE_URL).toBe('http://127.0.0.1:9/v1');
    expect(config.GATEWAY_API_KEYS).toEqual(['sk-one', 'sk-two']);
  });
});
