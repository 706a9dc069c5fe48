import { ActionIcon, Group, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { MagnifyingGlassIcon, MoonIcon, SunIcon } from '@radix-ui/react-icons';

/** The buttons at the right of the header. */
export default function Controls({ openPalette }: { openPalette: () => void }) {
  return (
    <Group gap="xs" wrap="nowrap">
      <ActionIcon
        variant="default"
        size="lg"
        aria-label="Go to"
        data-hint="Go to… (Ctrl+K)"
        onClick={openPalette}
      >
        <MagnifyingGlassIcon width={18} height={18} />
      </ActionIcon>
      <ColorSchemeSwitch />
    </Group>
  );
}

function ColorSchemeSwitch() {
  const { toggleColorScheme } = useMantineColorScheme();
  // The scheme in use, even if the system chooses it.
  const colorScheme = useComputedColorScheme();
  const label = colorScheme === 'dark' ? 'Use the light theme' : 'Use the dark theme';
  return (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={label}
      data-hint={label}
      onClick={toggleColorScheme}
    >
      {colorScheme === 'dark' ? (
        <SunIcon width={18} height={18} />
      ) : (
        <MoonIcon width={18} height={18} />
      )}
    </ActionIcon>
  );
}
