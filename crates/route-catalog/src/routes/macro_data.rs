//! The rows of the routes about macro data and real-world assets.

use x402_wire::MicroUsd;

use super::READ_SECONDS;
use crate::{Dataset, Method, Parameter, Route, Rule, WorkClass};

pub(crate) const TRADFI_DATA: Route = Route {
    method: Method::Get,
    path: "/tradfi-data",
    resource: "/tradfi-data",
    price: MicroUsd::dollars("0.001"),
    summary: "Indices, VIX, DXY, yields, commodities",
    description: "Indices, volatility, the dollar, treasury yields, commodities and FX, each with \
                  its unit, time, source, delay and whether its market is open. A closed market is \
                  not stale.",
    refuses: "the symbol is unknown, or no reading is available",
    query: &[Parameter::optional(
        "symbol",
        Rule::Symbol,
        "VIX",
        "Filter to one symbol.",
    )],
    body: &[],
    constraints: &[],
    core: &["readings"],
    datasets: &[],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/tradfi_data.json"),
};

pub(crate) const RWA_PULSE: Route = Route {
    method: Method::Get,
    path: "/rwa-pulse",
    resource: "/rwa-pulse",
    price: MicroUsd::dollars("0.05"),
    summary: "Real-world-asset pulse",
    description: "Macro data, tokenized-asset perpetuals (equities, commodities, FX) and crypto \
                  news in one answer. A reading without data is left out and named in `omitted`.",
    refuses: "the macro core is empty: fewer than two of yields, curve and VIX",
    query: &[],
    body: &[],
    constraints: &[],
    core: &["macro"],
    datasets: &[Dataset::News],
    work: WorkClass::Data,
    work_seconds: READ_SECONDS,
    example: include_str!("../examples/rwa_pulse.json"),
};
