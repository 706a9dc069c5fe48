import { afterAll, beforeAll } from 'vitest';
import { createPostgres, type TestDatabase } from './databases.ts';

/** One database for all tests of a file, by default on the shared Postgres. */
export function useDatabase(create: () => Promise<TestDatabase> = createPostgres): TestDatabase {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await create();
  });
  afterAll(() => database.close());
  return latest(() => database);
}

/** Stands for an object of the running test, so that a file can refer to it before it exists. */
export function latest<Value extends object>(read: () => Value): Value {
  return new Proxy({} as Value, {
    get: (_, key) => Reflect.get(read(), key),
    set: (_, key, value) => Reflect.set(read(), key, value),
    has: (_, key) => Reflect.has(read(), key),
    ownKeys: () => Reflect.ownKeys(read()),
    getOwnPropertyDescriptor: (_, key) => {
      const found = Reflect.getOwnPropertyDescriptor(read(), key);
      return found && { ...found, configurable: true };
    },
  });
}
