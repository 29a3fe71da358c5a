//! Macro data and real-world assets.

use x402_wire::MicroUsd;

use super::READ_SECONDS;
use crate::{Method, Operation, Parameter, Route, Rule};

pub(crate) const TRADFI_DATA: Route = Route {
    operation: Operation::TradfiData,
    method: Method::Get,
    path: "/tradfi-data",
    resource: "/tradfi-data",
    price: MicroUsd::dollars("0.001"),
    summary: "Indices, VIX, DXY, yields, commodities",
    description: "Indices, volatility, the dollar, treasury yields, commodities and FX, each with \
                  its unit, time, source, delay and whether its market is open. A closed market is \
                  not stale.",
    refuses: "the symbol is unknown, or nothing was obtained",
    query: &[Parameter::optional(
        "symbol",
        Rule::Symbol,
        "VIX",
        "Filter to one symbol.",
    )],
    body: &[],
    constraints: &[],
    core: &["readings"],
    work_seconds: READ_SECONDS,
    example: r#"{"indices":[{"symbol":"SP500","value":"6880.1","unit":"points","change_pct":"0.3","as_of":"2026-11-20T21:00:00Z","market_state":"closed","source":"fred.SP500","delayed_minutes":1440}],"volatility":{"vix":{"symbol":"VIX","value":"16.2","unit":"points"}},"dollar":{"derived_index":{"value":"99.4","unit":"index"}},"yields":{"3m":"3.71","2y":"3.52","10y":"4.06","30y":"4.70","spread_2s10s_bp":"54","curve_date":"2026-11-20"},"commodities":[],"fx":[{"symbol":"EURUSD","value":"1.1612","unit":"USD"}]}"#,
};

pub(crate) const RWA_PULSE: Route = Route {
    operation: Operation::RwaPulse,
    method: Method::Get,
    path: "/rwa-pulse",
    resource: "/rwa-pulse",
    price: MicroUsd::dollars("0.05"),
    summary: "Real-world-asset pulse",
    description: "Macro data, tokenized-asset perpetuals (equities, commodities, FX) and crypto \
                  news in one answer. A reading that would have to be made up is left out and \
                  named in `omitted`.",
    refuses: "the macro core is empty: fewer than two of yields, curve and VIX",
    query: &[],
    body: &[],
    constraints: &[],
    core: &["macro"],
    work_seconds: READ_SECONDS,
    example: r#"{"macro":{"us10y_pct":"4.06","spread_2s10s_bp":"54","vix":"16.2"},"tokenized":{"equities":[{"coin":"xyz:TSLA","dex":"xyz","mark":"402.1","oracle":"401.8","premium_bps":"7.5","funding_apr_pct":"5.1","oi_usd":"18200000","volume_24h_usd":"41000000","change_24h_pct":"1.9","oracle_state":"open"}],"indices":[],"commodities":[],"fx":[]},"news":[{"title":"Tokenized treasuries pass a record","url":"https://www.coindesk.com/tokenized"}],"omitted":[{"field":"tokenized.fx","reason":"source_unavailable"}]}"#,
};
