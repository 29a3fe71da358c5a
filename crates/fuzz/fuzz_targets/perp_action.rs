//! Decodes the msgpack of an order action. A decoded action encodes to the same bytes, its values
//! are written as they were read, and every action of printable text survives its own encoding.
#![no_main]

use calldata_checks::perp_order::{
    Action, OrderKind, Side, WireAction, WireBuilder, WireOrder, WireOrderKind, decode_action,
    msgpack,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let wire = msgpack::decode(data);
    if let Ok(wire) = &wire {
        assert_eq!(msgpack::encode(wire).as_deref(), Some(data));
    }
    if let Ok((read, action)) = decode_action(&data.to_vec().into()) {
        assert_eq!(wire.as_ref(), Ok(&read));
        assert_eq!(written(&action), read);
    }
    if let Some(action) = compose(data)
        && let Some(bytes) = msgpack::encode(&action)
        && bytes.len() <= msgpack::MAX_ACTION_BYTES
    {
        assert_eq!(msgpack::decode(&bytes), Ok(action));
    }
});

/// The text of an action's values.
fn written(action: &Action) -> WireAction {
    let order = |order: &calldata_checks::perp_order::Order| WireOrder {
        asset: order.asset,
        is_buy: order.side == Side::Buy,
        price: order.price.to_string(),
        size: order.size.to_string(),
        reduce_only: order.reduce_only,
        kind: match &order.kind {
            OrderKind::Limit(tif) => WireOrderKind::Limit {
                tif: tif.as_str().to_owned(),
            },
            OrderKind::Trigger(trigger) => WireOrderKind::Trigger {
                is_market: trigger.is_market,
                trigger_price: trigger.price.to_string(),
                tpsl: trigger.kind.as_str().to_owned(),
            },
        },
        cloid: order.cloid.map(|id| format!("{id:#x}")),
    };
    WireAction {
        kind: "order".to_owned(),
        orders: action.orders().map(order).collect(),
        grouping: action.grouping.as_str().to_owned(),
        builder: action.builder.map(|builder| WireBuilder {
            address: format!("{:#x}", builder.address),
            fee: builder.fee_tenth_bps,
        }),
    }
}

/// An action from the input bytes: a flag byte and a number for each order, then its texts, each up
/// to a blank.
fn compose(data: &[u8]) -> Option<WireAction> {
    let (&flags, mut rest) = data.split_first()?;
    let mut text = || {
        let end = rest.iter().position(|byte| *byte == b' ')?;
        let (text, after) = rest.split_at(end);
        rest = &after[1..];
        let graphic = text.iter().all(u8::is_ascii_graphic);
        graphic.then(|| String::from_utf8_lossy(text).into_owned())
    };
    let kind = text()?;
    let grouping = text()?;
    let builder = match flags & 1 {
        1 => Some(WireBuilder {
            address: text()?,
            fee: text()?.parse().ok()?,
        }),
        _ => None,
    };
    let mut orders = Vec::new();
    while let Some(form) = text() {
        let flag = |letter: char| form.contains(letter);
        orders.push(WireOrder {
            asset: text()?.parse().ok()?,
            is_buy: flag('b'),
            price: text()?,
            size: text()?,
            reduce_only: flag('r'),
            kind: if flag('t') {
                WireOrderKind::Trigger {
                    is_market: flag('m'),
                    trigger_price: text()?,
                    tpsl: text()?,
                }
            } else {
                WireOrderKind::Limit { tif: text()? }
            },
            cloid: if flag('c') { Some(text()?) } else { None },
        });
    }
    Some(WireAction {
        kind,
        orders,
        grouping,
        builder,
    })
}
