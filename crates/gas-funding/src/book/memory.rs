//! A book in memory.

use std::sync::{Mutex, PoisonError};

use alloy_primitives::U256;

use super::{Book, BookFuture, Booked, Given, Limits, TopUp, day_of};

/// A book that is not durable. It is for tests in simulated time, which cannot wait for the thread
/// of a file.
#[derive(Debug, Default)]
pub struct MemoryBook(Mutex<Vec<TopUp>>);

impl MemoryBook {
    /// All bookings, in their order.
    #[must_use]
    pub fn all(&self) -> Vec<TopUp> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Book for MemoryBook {
    fn book(&self, top_up: TopUp, limits: Limits) -> BookFuture<'_, Booked> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|known| known.key == top_up.key);
        let booked = match known {
            Some(known) => Ok(Booked {
                wei: known.wei,
                is_new: false,
            }),
            None => {
                let day = day_of(top_up.at);
                let sum = |is: &dyn Fn(&TopUp) -> bool| {
                    let of = all.iter().filter(|it| is(it)).map(|it| it.micro_usd);
                    of.fold(0, u64::saturating_add)
                };
                let given = Given {
                    owner_today: sum(&|it| it.owner == top_up.owner && it.at >= day),
                    owner_ever: sum(&|it| it.owner == top_up.owner),
                    all_today: sum(&|it| it.at >= day),
                    chain_today_wei: all
                        .iter()
                        .filter(|it| it.chain_id == top_up.chain_id && it.at >= day)
                        .fold(U256::ZERO, |sum, it| sum.saturating_add(it.wei)),
                };
                limits.require(&top_up, given).map(|()| Booked {
                    wei: top_up.wei,
                    is_new: true,
                })
            }
        };
        if booked.as_ref().is_ok_and(|booked| booked.is_new) {
            all.push(top_up);
        }
        Box::pin(std::future::ready(booked))
    }
}
