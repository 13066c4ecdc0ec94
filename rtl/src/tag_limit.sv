// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// The number of tags that a test uses: what software allows, and at most 32 while the host does not enable extended tags. With
// neither word from software nor from the device control register, it is 32, which every host allows.
module tag_limit #(
    parameter TAGS = 64,
    parameter WIDTH = $clog2(TAGS)
) (
    input  wire logic clk,
    // The count changes only with a reset.
    input  wire logic rst,
    // 0: software sets no limit.
    input  wire logic [8:0] link_tags,
    input  wire logic extended_tags_known,
    input  wire logic extended_tags,
    output logic [WIDTH:0] count
);
    localparam logic [8:0] PLAIN = 9'd32;

    logic [8:0] most, allowed;

    assign most = extended_tags_known ? (extended_tags ? 9'(TAGS) : PLAIN) : (link_tags == '0 ? PLAIN : 9'(TAGS));
    assign allowed = link_tags == '0 || link_tags > most ? most : link_tags;

    always_ff @(posedge clk) if (rst) count <= (WIDTH + 1)'(allowed);
endmodule

`default_nettype wire
