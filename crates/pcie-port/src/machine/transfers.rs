//! Transfers of any size: an engine at each host and device that cuts them into TLPs, and sends these when tags and
//! credits are free.

use super::{Event, Machine, MachineError, Timer};
use crate::requester::next_bytes;
use crate::tlp::{Kind, Tlp, TlpError};
use pcie_fabric::{NodeId, NodeParameters};
use pcie_time::Picoseconds;
use std::collections::{BTreeMap, VecDeque};

use super::regions::Target;
use crate::endpoint::Units;

/// Reads in flight of a device whose description gives no tags: those of extended tags.
const TAGS_UNDESCRIBED: u32 = 256;

/// A transfer that has not left whole.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    number: u64,
    kind: Kind,
    address: u64,
    left_bytes: u64,
    ready: Picoseconds,
    target: Target,
}

/// Transfers of a node, in order.
#[derive(Debug)]
pub(super) struct Engine {
    tags: u32,
    /// Reads in flight.
    pub(super) reads: u32,
    queue: VecDeque<Transfer>,
    /// Bytes of each transfer that have not arrived.
    to_arrive: BTreeMap<u64, u64>,
}

impl Engine {
    pub(super) fn of(node: &NodeParameters) -> Self {
        let tags = node.device.as_ref().map_or(TAGS_UNDESCRIBED, |device| device.engine.tags);
        Self { tags, reads: 0, queue: VecDeque::new(), to_arrive: BTreeMap::new() }
    }
}

impl Machine {
    /// Queues a read or write of any size within one memory, which the node has at `ready`. Returns its number, which
    /// [`Event::Done`] has. Transfers of a node begin in the order of their times, and end where they may: one that waits
    /// for tags or credits keeps those behind it.
    ///
    /// # Errors
    /// Names what is wrong; nothing is changed.
    pub fn transfer(
        &mut self,
        node: NodeId,
        kind: Kind,
        address: u64,
        bytes: u64,
        ready: Picoseconds,
    ) -> Result<u64, MachineError> {
        self.check_time(ready)?;
        self.end(node).ok_or(MachineError::Node(node))?;
        let signal = Tlp { kind, tag: 0, address, length: 4, relaxed: false };
        if bytes == 0 || kind == Kind::Message || signal.is_signal() {
            return Err(TlpError::Transfer { offset: address, bytes, buffer_bytes: u64::MAX }.into());
        }
        let target = self.owner(node, address, bytes)?;
        let Some(end) = self.ends[node as usize].as_mut() else { return Err(MachineError::Node(node)) };
        let number = self.next_transfer;
        self.next_transfer += 1;
        let index = end.engine.queue.partition_point(|other| other.ready <= ready);
        end.engine.queue.insert(index, Transfer { number, kind, address, left_bytes: bytes, ready, target });
        end.engine.to_arrive.insert(number, bytes);
        // At the next look, so that the events of this call do not depend on when it is made.
        self.timers.push(ready, Timer::Pump(node));
        Ok(number)
    }

    /// Transfers of a node that are not done.
    #[must_use]
    pub fn transfers(&self, node: NodeId) -> usize {
        self.end(node).map_or(0, |end| end.engine.to_arrive.len())
    }

    /// Sends what the engine of a node can send.
    pub(super) fn pump(&mut self, node: NodeId) {
        let (mps, mrrs) = (self.topology().mps_bytes(), self.mrrs_bytes());
        while let Some(end) = self.ends[node as usize].as_mut() {
            let engine = &mut end.engine;
            let Some(head) = engine.queue.front_mut() else { return };
            if head.ready > self.now {
                // Its timer is set.
                return;
            }
            let most = if head.kind == Kind::Read { mrrs } else { mps };
            let length = next_bytes(most.into(), head.address, head.left_bytes) as u32;
            let tlp = Tlp { kind: head.kind, tag: 0, address: head.address, length, relaxed: false };
            if end.credits.lacking(&Units::of(&tlp)).is_some()
                || (head.kind == Kind::Read && engine.reads >= engine.tags)
            {
                return;
            }
            let (number, target) = (head.number, head.target);
            head.address += u64::from(length);
            head.left_bytes -= u64::from(length);
            if head.left_bytes == 0 {
                engine.queue.pop_front();
            }
            self.send(node, tlp, target, self.now, Some(number));
        }
    }

    /// Bytes of a transfer have arrived.
    pub(super) fn moved(&mut self, node: NodeId, transfer: u64, bytes: u32) {
        let Some(end) = self.ends[node as usize].as_mut() else { return };
        let Some(left) = end.engine.to_arrive.get_mut(&transfer) else { return };
        *left -= u64::from(bytes);
        if *left == 0 {
            end.engine.to_arrive.remove(&transfer);
            self.events.push_back(Event::Done { at: self.now, node, transfer });
        }
    }
}
