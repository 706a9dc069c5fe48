import { z } from 'zod';

// Imported before anything that makes a schema. zod compiles an object's schema when it parses with it
// first: the schemas of one message cost a cold start more than all that they would save an instance.
z.config({ jitless: true });
