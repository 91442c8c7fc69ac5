/* oxlint-disable -- the globals are those of the MongoDB shell */
// Run once by the image, on an empty volume. The service's user may read and write its own database and nothing else.
db.getSiblingDB("onym").createUser({
  user: "onym",
  pwd: process.env.MONGODB_PASSWORD,
  roles: [{ role: "readWrite", db: "onym" }],
});
