import { AppError } from "../../core/errors.js";

/** The same error, with the place of the line before each path. */
export function placed(error: unknown, place: string): unknown {
  if (!(error instanceof AppError) || error.errors === undefined) return error;
  const { code, headers, members, schemaId, names, cause } = error;
  const errors = error.errors.map(({ path, message }) => ({
    path: path === "" ? place : `${place}.${path}`,
    message,
  }));
  const [first] = errors;
  const detail = first === undefined ? `${place}: does not match` : `${first.path}: ${first.message}`;
  return new AppError(code, detail, {
    errors,
    cause,
    ...(headers !== undefined && { headers }),
    ...(members !== undefined && { members }),
    ...(schemaId !== undefined && { schemaId }),
    ...(names !== undefined && { names: () => new Set([...names(), ...place.split(".")]) }),
  });
}
