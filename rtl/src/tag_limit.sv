// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// The number of tags that a test uses: what software allows, at most 256 while the host does not enable 10-bit tags, and at most
// 32 while it does not enable extended tags either. With neither word from software nor from the device control registers, it is
// 32, which every host allows. Without word from the registers, software that allows more than 256 has enabled 10-bit tags.
module tag_limit #(
    parameter TAGS = 64,
    parameter WIDTH = $clog2(TAGS)
) (
    input  wire logic clk,
    // The count changes only with a reset, to that of inputs that have stood for two clocks.
    input  wire logic rst,
    // 0: software sets no limit.
    input  wire logic [9:0] link_tags,
    // Whether the host's device control registers are known, and what they enable.
    input  wire logic extended_tags_known,
    input  wire logic extended_tags,
    input  wire logic ten_bit_tags,
    output logic [WIDTH:0] count,
    // Tags have 10 bits.
    output logic wide
);
    localparam logic [9:0] PLAIN = 10'd32, EXTENDED = TAGS < 256 ? 10'(TAGS) : 10'd256;

    logic known_wide;
    logic [9:0] most, allowed;
    logic unset;
    logic [WIDTH:0] next_count;
    logic next_wide;

    assign known_wide = TAGS > 256 && extended_tags && ten_bit_tags;
    assign allowed = unset || link_tags > most ? most : link_tags;

    always_ff @(posedge clk) begin
        unset <= link_tags == '0;
        most <= extended_tags_known ? (known_wide ? 10'(TAGS) : extended_tags ? EXTENDED : PLAIN)
            : (link_tags == '0 ? PLAIN : 10'(TAGS));
        next_count <= (WIDTH + 1)'(allowed);
        next_wide <= TAGS > 256 && (extended_tags_known ? known_wide : link_tags > 10'd256);
        if (rst) {count, wide} <= {next_count, next_wide};
    end
endmodule

`default_nettype wire
