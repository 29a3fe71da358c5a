//! The members of `/status` and `/readyz` about routes that are not served and schemes that cannot
//! be paid.

use route_catalog::{Catalog, Operation};
use serde_json::{Value, json};
use x402_wire::Scheme;

/// The schemes of every challenge that cannot be settled, by the configuration and by the settler's
/// last report.
pub(super) fn unpayable(catalog: &Catalog, aggr_deferred: Option<bool>) -> Vec<&'static str> {
    let mut schemes = catalog.offered().unpayable.clone();
    if aggr_deferred == Some(false) && !schemes.contains(&Scheme::AggrDeferred) {
        schemes.push(Scheme::AggrDeferred);
    }
    schemes.into_iter().map(Scheme::as_str).collect()
}

/// Every paid operation, with the reason if it is not served.
pub(super) fn routes(catalog: &Catalog) -> Vec<Value> {
    let row = |operation: Operation| {
        let (route, unserved) = (operation.route(), catalog.offered().of(operation));
        json!({
            "operation": operation.name(),
            "method": route.method.as_str(),
            "path": route.path,
            "state": if unserved.is_none() { "ok" } else { "disabled" },
            "reason": unserved.map(|unserved| unserved.reason),
            "needs": unserved.map(|unserved| unserved.needs.clone()),
        })
    };
    Operation::ALL.into_iter().map(row).collect()
}
