// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Hands the host's stores to the owner of their BAR, in order: BAR 4 is the core's memory, all others are messages.
module store_switch (
    input  wire logic clk,
    host_stream.sink store,
    host_stream.source messages,
    host_stream.source memory
);
    // All beats of a store follow its first one.
    logic to_memory, begun_to_memory;
    assign to_memory = store.sop ? store.header.bar == 3'd4 : begun_to_memory;
    assign messages.valid = store.valid && !to_memory;
    assign memory.valid = store.valid && to_memory;
    assign store.ready = to_memory ? memory.ready : messages.ready;
    assign {messages.sop, messages.eop, messages.header, messages.data} = {store.sop, store.eop, store.header, store.data};
    assign {memory.sop, memory.eop, memory.header, memory.data} = {store.sop, store.eop, store.header, store.data};
    always_ff @(posedge clk) if (store.valid && store.ready) begun_to_memory <= to_memory;
endmodule

`default_nettype wire
