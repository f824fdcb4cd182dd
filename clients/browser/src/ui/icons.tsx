/**
 * Small drawings, all of one line weight. They say nothing that is not also said in words.
 */
const Icon = ({ d, size = 16 }: { d: string; size?: number }) => (
  <svg class="icon" viewBox="0 0 16 16" width={size} height={size} aria-hidden="true">
    <path d={d} />
  </svg>
);

export const Shield = () => <Icon d="M8 1.5 13.5 3.5V8c0 3.2-2.3 5.4-5.5 6.5C4.8 13.4 2.5 11.2 2.5 8V3.5Z" />;
export const MapIcon = () => <Icon size={20} d="M1.5 3.5 6 2l4 1.5L14.5 2v10.500L10 14l-4-1.500L1.500 14ZM6 2v10.500M10 3.500V14" />;
export const People = () => (
  <Icon
    size={20}
    d="M6 7.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5ZM1.500 13.500c0-3 2-4 4.500-4s4.500 1 4.500 4M10.500 7.200a2.200 2.200 0 0 0 0-4.400M12 9.800c1.600.5 2.500 1.700 2.500 3.700"
  />
);
export const Book = () => (
  <Icon
    size={20}
    d="M3 2.500h8.500a1.500 1.500 0 0 1 1.500 1.500v9.500H4.500A1.500 1.500 0 0 1 3 12ZM3 12a1.500 1.500 0 0 1 1.500-1.500H13M6 5.500h4"
  />
);
export const Tools = () => <Icon size={20} d="M2 4.500h7M13 4.500h1M2 11.500h1M7 11.500h7M11 2.500v4M5 9.500v4" />;
export const Eye = () => (
  <Icon d="M1.500 8S4 3.500 8 3.500 14.500 8 14.500 8 12 12.500 8 12.500 1.500 8 1.500 8ZM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z" />
);
export const Lock = () => <Icon d="M4 7h8v6.500H4ZM5.500 7V5a2.500 2.500 0 0 1 5 0v2" />;
export const Check = () => <Icon d="m3 8.500 3.500 3.500L13 4.500" />;
export const Cross = () => <Icon d="m4 4 8 8M12 4l-8 8" />;

export function Mark() {
  return (
    <svg class="logo" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true">
      <path class="logo-body" d="M16 2 28 9v14l-12 7L4 23V9z" />
      <path class="logo-face" d="M16 8l7 12H9z" />
    </svg>
  );
}
