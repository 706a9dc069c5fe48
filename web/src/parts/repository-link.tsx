import { Anchor } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { RepositoryPath } from '../api/queries.ts';

/** The name of a repository, linked to its page. On a tint, the link has the color of the text. */
export function RepositoryLink({ name, onTint = false }: { name: string; onTint?: boolean }) {
  const path = pathOf(name);
  const text = <bdi style={{ overflowWrap: 'anywhere' }}>{name}</bdi>;
  if (path === null) return text;
  return (
    <Anchor
      component={Link}
      to={addressOf(path)}
      inherit
      {...(onTint ? { c: 'inherit', underline: 'always' } : {})}
    >
      {text}
    </Anchor>
  );
}

/** Null for a name in another form, which other programs may have stored. */
function pathOf(fullName: string): RepositoryPath | null {
  const [owner, name, ...more] = fullName.split('/');
  return owner && name && more.length === 0 ? { owner, name } : null;
}

function addressOf({ owner, name }: RepositoryPath): string {
  return `/repositories/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
}
