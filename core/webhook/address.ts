import { BlockList, isIP } from "node:net";

/** What the registries of special addresses say belongs to nobody, to this network or to this machine. */
const REFUSED_V4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  // Link-local, with the metadata of clouds.
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const;
/** Of 2000::/3; all other IPv6 addresses are refused, the ones that stand for IPv4 addresses among them. */
const REFUSED_V6 = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["2620:4f:8000::", 48],
  ["3fff::", 20],
] as const;

const refused = new BlockList();
for (const [net, bits] of REFUSED_V4) refused.addSubnet(net, bits, "ipv4");
for (const [net, bits] of REFUSED_V6) refused.addSubnet(net, bits, "ipv6");
const unicast = new BlockList();
unicast.addSubnet("2000::", 3, "ipv6");
/** The metadata of clouds, at addresses that look public. */
refused.addAddress("168.63.129.16", "ipv4");

/** Anybody on the Internet may be there, and nobody else. False also for what is no address. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !refused.check(address, "ipv4");
  return version === 6 && unicast.check(address, "ipv6") && !refused.check(address, "ipv6");
}
