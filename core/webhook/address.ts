import { BlockList, isIP } from "node:net";

/** What the registries of special addresses say belongs to nobody, to this network or to this machine. */
const REFUSED_V4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
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

/** Link-local, and the metadata of clouds elsewhere: whoever may be asked there may hand out the machine's own credentials. */
const metadata = new BlockList();
metadata.addSubnet("169.254.0.0", 16, "ipv4");
for (const address of ["100.100.100.200", "168.63.129.16", "192.0.0.192"]) metadata.addAddress(address, "ipv4");
metadata.addSubnet("fe80::", 10, "ipv6");
// 169.254.0.0/16 behind a NAT64.
metadata.addSubnet("64:ff9b::a9fe:0", 112, "ipv6");
for (const address of ["fd00:ec2::254", "fd20:ce::254"]) metadata.addAddress(address, "ipv6");

/** Where no webhook ever goes, in one's own network neither. */
export function isMetadataAddress(address: string): boolean {
  const [plain = ""] = address.split("%");
  return metadata.check(plain, isIP(plain) === 4 ? "ipv4" : "ipv6");
}

/** Anybody on the Internet may be there, and nobody else. False also for what is no address. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 0 || isMetadataAddress(address)) return false;
  if (version === 4) return !refused.check(address, "ipv4");
  return unicast.check(address, "ipv6") && !refused.check(address, "ipv6");
}
