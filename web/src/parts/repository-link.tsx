import { Anchor, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Breakable } from './breakable.tsx';

/** The name of a repository, linked to its page. On a tint, the link has the color of the text. */
export function RepositoryLink({ name, onTint = false }: { name: string; onTint?: boolean }) {
  const to = pathOfRepository(name);
  const text = (
    <bdi style={{ overflowWrap: 'anywhere' }}>
      <Breakable text={name} />
    </bdi>
  );
  if (to === null) return text;
  return (
    <Anchor
      component={Link}
      to={to}
      inherit
      {...(onTint ? { c: 'inherit', underline: 'always' } : {})}
    >
      {text}
    </Anchor>
  );
}

/** The address of a repository's page; null for a name in another form, which other programs may have stored. */
export function pathOfRepository(fullName: string): string | null {
  const [owner, name, ...more] = fullName.split('/');
  if (!owner || !name || more.length > 0) return null;
  return `/repositories/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
}

/** Where a repository is read: two of the same name differ only in that. */
export function SourceAddress({ address }: { address: string }) {
  return (
    <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
      <bdi>
        <Breakable text={address} />
      </bdi>
    </Text>
  );
}
