//! Finds the operation of a request line. This is the routing of the paid paths.

use std::{collections::HashMap, sync::LazyLock};

use crate::{Method, Operation};

/// The result of a search for a method and a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// A paid operation.
    Found {
        /// The operation.
        operation: Operation,
        /// Whether the request is a `HEAD`. The server answers it like the unpaid `GET` without a
        /// body, and never does paid work for it.
        head: bool,
    },
    /// The request is an `OPTIONS` on a path that exists.
    Options(Allow),
    /// The path exists and does not take the method. The server reads nothing else of the request.
    MethodNotAllowed(Allow),
    /// No paid route has this path. A trailing slash makes another path.
    NotFound,
}

/// The methods that a path takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allow {
    header: &'static str,
    methods: &'static [Method],
}

impl Allow {
    /// Returns the value of the `Allow` header, such as `GET, HEAD, OPTIONS`.
    pub const fn header(self) -> &'static str {
        self.header
    }

    /// Returns the methods that are paid operations, such as `POST`.
    pub const fn methods(self) -> &'static [Method] {
        self.methods
    }
}

/// Finds the operation of a request line. `path` has no query, and is compared byte by byte without
/// decoding. Methods are case-sensitive (RFC 9110 section 9.1).
///
/// ```
/// use route_catalog::{Operation, Resolution, resolve};
///
/// assert_eq!(
///     resolve("GET", "/price"),
///     Resolution::Found { operation: Operation::Price, head: false }
/// );
/// let Resolution::MethodNotAllowed(allow) = resolve("GET", "/swap") else { panic!() };
/// assert_eq!(allow.header(), "POST, OPTIONS");
/// assert_eq!(resolve("GET", "/price/"), Resolution::NotFound);
/// ```
pub fn resolve(method: &str, path: &str) -> Resolution {
    let Some(entry) = PATHS.get(path) else {
        return Resolution::NotFound;
    };
    let (wanted, head) = match method {
        "GET" => (Method::Get, false),
        "HEAD" => (Method::Get, true),
        "POST" => (Method::Post, false),
        "DELETE" => (Method::Delete, false),
        "OPTIONS" => return Resolution::Options(entry.allow()),
        _ => return Resolution::MethodNotAllowed(entry.allow()),
    };
    entry
        .operations
        .iter()
        .find(|operation| operation.route().method == wanted)
        .map_or(Resolution::MethodNotAllowed(entry.allow()), |operation| {
            Resolution::Found {
                operation: *operation,
                head,
            }
        })
}

struct Entry {
    operations: Vec<Operation>,
    methods: Vec<Method>,
    header: String,
}

impl Entry {
    fn allow(&'static self) -> Allow {
        Allow {
            header: &self.header,
            methods: &self.methods,
        }
    }
}

static PATHS: LazyLock<HashMap<&'static str, Entry>> = LazyLock::new(|| {
    let mut paths: HashMap<&'static str, Entry> = HashMap::new();
    for operation in Operation::ALL {
        let route = operation.route();
        let entry = paths.entry(route.path).or_insert_with(|| Entry {
            operations: Vec::new(),
            methods: Vec::new(),
            header: String::new(),
        });
        entry.operations.push(operation);
        entry.methods.push(route.method);
    }
    for entry in paths.values_mut() {
        entry.methods.sort_by_key(|method| match method {
            Method::Get => 0,
            Method::Post => 1,
            Method::Delete => 2,
        });
        let mut names = Vec::new();
        for method in &entry.methods {
            names.push(method.as_str());
            if *method == Method::Get {
                names.push("HEAD");
            }
        }
        names.push("OPTIONS");
        entry.header = names.join(", ");
    }
    paths
});

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_operation_is_found_by_its_own_line() {
        for operation in Operation::ALL {
            let route = operation.route();
            assert_eq!(
                resolve(route.method.as_str(), route.path),
                Resolution::Found {
                    operation,
                    head: false
                }
            );
            let head = resolve("HEAD", route.path);
            match route.method {
                Method::Get => assert_eq!(
                    head,
                    Resolution::Found {
                        operation,
                        head: true
                    }
                ),
                _ => assert!(
                    !matches!(head, Resolution::Found { operation: found, .. } if found == operation)
                ),
            }
        }
    }

    #[test]
    fn a_wrong_method_gets_the_allowed_ones() {
        for (method, path, header) in [
            ("GET", "/swap", "POST, OPTIONS"),
            ("HEAD", "/swap", "POST, OPTIONS"),
            ("POST", "/price", "GET, HEAD, OPTIONS"),
            ("get", "/price", "GET, HEAD, OPTIONS"),
            ("", "/price", "GET, HEAD, OPTIONS"),
            ("PUT", "/yield-watch", "GET, HEAD, POST, DELETE, OPTIONS"),
            ("DELETE", "/yield-watch/audit", "GET, HEAD, OPTIONS"),
        ] {
            let Resolution::MethodNotAllowed(allow) = resolve(method, path) else {
                panic!("{method} {path}")
            };
            assert_eq!(allow.header(), header);
        }
        let Resolution::MethodNotAllowed(allow) = resolve("GET", "/auto-swap") else {
            panic!()
        };
        assert_eq!(allow.methods(), [Method::Post]);
        assert!(matches!(
            resolve("OPTIONS", "/swap"),
            Resolution::Options(_)
        ));
    }

    #[test]
    fn near_misses_are_not_found() {
        for path in [
            "",
            "/",
            "price",
            "/price/",
            "/Price",
            "//price",
            "/price?token=1",
            "/%70rice",
        ] {
            for method in ["GET", "POST", "OPTIONS", "PUT"] {
                assert_eq!(
                    resolve(method, path),
                    Resolution::NotFound,
                    "{method} {path}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(method in "\\PC*", path in "\\PC*") {
            let _ = resolve(&method, &path);
        }
    }
}
