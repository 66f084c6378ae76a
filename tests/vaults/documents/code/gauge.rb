require "set"

module Valley
  class Gauge
    def rounded
      @level.ceil
    end
  end
end

def worst(all)
  all.first # the last line of ruby
end
