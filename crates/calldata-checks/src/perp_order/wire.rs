//! An order action as text, in one shape for its JSON and its msgpack, so that the two compare.

/// An order action on the wire. Members are declared in wire order; the type normalises and judges
/// nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WireAction {
    /// `type`
    pub kind: String,
    /// `orders`
    pub orders: Vec<WireOrder>,
    /// `grouping`
    pub grouping: String,
    /// `builder`, left out when the order has none.
    pub builder: Option<WireBuilder>,
}

/// One order of an action.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WireOrder {
    /// `a`: the asset id.
    pub asset: u32,
    /// `b`: whether the order buys.
    pub is_buy: bool,
    /// `p`: the limit price.
    pub price: String,
    /// `s`: the size.
    pub size: String,
    /// `r`: whether the order only reduces a position.
    pub reduce_only: bool,
    /// `t`
    pub kind: WireOrderKind,
    /// `c`: the client order id, left out when the order has none.
    pub cloid: Option<String>,
}

/// The type of an order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WireOrderKind {
    /// `{"limit": {"tif"}}`
    Limit {
        /// `tif`
        tif: String,
    },
    /// `{"trigger": {"isMarket", "triggerPx", "tpsl"}}`
    Trigger {
        /// `isMarket`
        is_market: bool,
        /// `triggerPx`
        trigger_price: String,
        /// `tpsl`
        tpsl: String,
    },
}

/// The builder of an action.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WireBuilder {
    /// `b`: the address, as text.
    pub address: String,
    /// `f`: the fee in tenths of a basis point.
    pub fee: u32,
}
