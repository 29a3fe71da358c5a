//! An order action as text: what its JSON says, and what its msgpack says, in one shape, so that
//! the two compare.

/// An order action on the wire. Members are declared in wire order; nothing is
/// normalised or judged here.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WireAction {
    /// `type`
    pub kind: String,
    /// `orders`
    pub orders: Vec<WireOrder>,
    /// `grouping`
    pub grouping: String,
    /// `builder`, left out when there is none.
    pub builder: Option<WireBuilder>,
}

/// One order of an action.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WireOrder {
    /// `a`: the asset id.
    pub asset: u32,
    /// `b`: whether it buys.
    pub is_buy: bool,
    /// `p`: the limit price.
    pub price: String,
    /// `s`: the size.
    pub size: String,
    /// `r`: whether it only reduces a position.
    pub reduce_only: bool,
    /// `t`
    pub kind: WireOrderKind,
    /// `c`: the client order id, left out when there is none.
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
